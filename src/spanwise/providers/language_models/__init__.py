"""Language models of all vendors, by pydantic-ai."""
