"""Conformance tests and test doubles for authors of stores, models, rerankers and parsers."""
