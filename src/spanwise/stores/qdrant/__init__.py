"""The Qdrant store: documents, chunks and search on a server or cluster of Qdrant."""
