"""Numbered clauses of contracts, as a tree."""
