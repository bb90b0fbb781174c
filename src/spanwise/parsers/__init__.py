"""One file per family of document formats."""
