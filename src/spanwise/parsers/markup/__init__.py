"""Parsers of HTML, EPUB, Markdown, reStructuredText and AsciiDoc."""
