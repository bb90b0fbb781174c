"""Measurements of quality and speed, each against a named baseline in the same run."""
