"""Conformance suites and deterministic test doubles for authors of stores, models and parsers."""
