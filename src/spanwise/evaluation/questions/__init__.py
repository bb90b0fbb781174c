"""Questions with answers and evidence, made of documents by a model and checked against them."""
