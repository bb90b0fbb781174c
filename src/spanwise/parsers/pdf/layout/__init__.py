"""From words with places to text in reading order: pure, fed by plain lists."""
