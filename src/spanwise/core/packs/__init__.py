"""Packs: what is known of a kind of document before any question is asked."""
