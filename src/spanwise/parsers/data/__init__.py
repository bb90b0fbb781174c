"""Records and tables as text: CSV, JSON, notebooks."""
