"""Embedders of vendors and of servers."""
