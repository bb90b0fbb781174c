"""Layout analysis: words with positions to text in reading order; pure functions on lists."""
