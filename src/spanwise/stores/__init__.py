"""Stores of documents: in a folder, in a read-only folder, or in memory (see the `Store` port)."""
