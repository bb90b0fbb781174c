"""HTTP server: search, reading, answers and documents of knowledge bases under `/v1`."""
