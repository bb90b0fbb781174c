"""Command line: parses arguments, calls `KnowledgeBase`, and formats the output."""
