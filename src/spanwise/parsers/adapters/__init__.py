"""Parsers of others, in our parsing process."""
