"""What rerankers are made of: one file for each library, one for all that speak HTTP."""
