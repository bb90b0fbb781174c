"""Structure of one document: headings, sections, titles, headers and chunks."""
