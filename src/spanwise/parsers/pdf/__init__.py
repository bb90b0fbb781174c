"""PDF: opened or salvaged, read word by word, laid out; scans by OCR, pages as pictures."""
