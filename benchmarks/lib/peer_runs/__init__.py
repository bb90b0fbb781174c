"""Retrievers of other frameworks, each run in an environment of its own."""
