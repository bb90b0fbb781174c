"""Parsers of document formats, one file or folder per family."""
