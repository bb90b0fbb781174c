"""Shared code of the benchmark scripts."""
