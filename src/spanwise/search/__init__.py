"""Search: from a question to segments and excerpts."""
