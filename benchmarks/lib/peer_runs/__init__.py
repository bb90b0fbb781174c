"""Retrievers of other frameworks; each runs in a separate virtual environment."""
