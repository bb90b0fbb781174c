"""Conformance suites and deterministic fakes for those who write a store, embedder or parser."""
