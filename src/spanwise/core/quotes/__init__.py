"""Whether a quote stands in a text, and where: to the character."""
