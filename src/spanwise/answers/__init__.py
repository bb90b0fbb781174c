"""Answers with checked quotes: search queries, model calls, citations and conversations."""
