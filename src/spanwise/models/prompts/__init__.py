"""Prompts for language models: instructions, answer schemas and validation of the answers."""
