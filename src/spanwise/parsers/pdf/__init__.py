"""PDF: repair, words, layout, OCR of scans, and images of pages."""
