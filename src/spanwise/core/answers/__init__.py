"""Quotes, citations and drafts of answers."""
