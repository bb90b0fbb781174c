"""Image files: their headers, a PDF that shows them, and OCR."""
