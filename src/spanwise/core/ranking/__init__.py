"""Relevance of chunks to a question: terms, scores, features and the linear model."""
