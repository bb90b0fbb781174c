"""Pure functions on texts and numbers, without files, clock, randomness or environment."""
