"""Pure arithmetic on text and numbers: no files, clock, randomness or environment."""
