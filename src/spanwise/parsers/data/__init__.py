"""Parsers of records and tables: CSV, JSON, notebooks."""
