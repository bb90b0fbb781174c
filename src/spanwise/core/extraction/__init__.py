"""Relevant segment extraction: the most valuable runs of chunks inside a token budget."""
