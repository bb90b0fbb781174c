"""The process that parses: started, asked, limited and killed."""
