"""Language models, embedders and rerankers: ports, calls, providers and prompts."""
