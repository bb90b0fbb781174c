"""Parsers of Word, PowerPoint, Excel, OpenDocument and RTF files."""
