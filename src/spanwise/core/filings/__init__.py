"""What filings of companies say of themselves: cover pages and items."""
