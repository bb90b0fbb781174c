"""Answers with checked quotes: search queries, reading, composition and conversations."""
