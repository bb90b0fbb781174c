"""Prompts: instructions, expected form and validation of each answer."""
