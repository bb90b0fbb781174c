"""Quotes, citations, calculations and drafts of answers; support of statements by quotes."""
