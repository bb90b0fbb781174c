"""How models are called: from what is kept, several at once, within limits, counted."""
