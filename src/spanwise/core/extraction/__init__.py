"""Relevant segment extraction: the runs of chunks that are worth most inside a token budget."""
