"""The command line: a thin shell around `KnowledgeBase` that draws, and decides nothing."""
