"""Benchmarks of quality and speed; each compares with a named baseline in the same run."""
