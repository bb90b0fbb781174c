"""Source code, by its grammar."""
