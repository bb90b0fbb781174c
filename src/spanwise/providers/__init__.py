"""One file per library or vendor that embeds, reranks or generates."""
