"""Sections that a model names by numbered lines: what it reads, and what becomes of its answer.

Pure: `spanwise.tasks.sections` asks the model.
"""
