"""Components for LangChain, LlamaIndex and Haystack; each module needs the extra of its name."""
