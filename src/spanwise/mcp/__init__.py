"""Model Context Protocol server: tools with which agents search and read documents."""
