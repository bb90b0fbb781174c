"""HTML, Markdown, reStructuredText, AsciiDoc, and books made of HTML."""
