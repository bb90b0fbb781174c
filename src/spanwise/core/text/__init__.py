"""Text primitives: sentences, terms, languages and safe truncation."""
