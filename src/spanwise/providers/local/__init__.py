"""Embedders and rerankers that run in this process, one file for each library."""
