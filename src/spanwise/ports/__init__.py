"""What Spanwise asks of the world: protocols, and the plain data that crosses them."""

from spanwise.ports.listener import Listener
from spanwise.ports.models import (
    ContextualEmbedder,
    Embedder,
    EmbedReply,
    GroupReranker,
    LanguageModel,
    ModelReply,
    ModelRequest,
    OutputCache,
    Reranker,
    RerankReply,
    Tokenizer,
)
from spanwise.ports.stores import (
    DocumentEntry,
    Moments,
    PassageRange,
    Passages,
    Scan,
    ScanQuery,
    Searchable,
    Snapshot,
    Store,
    repeated_read,
)

__all__ = [
    "ContextualEmbedder",
    "DocumentEntry",
    "EmbedReply",
    "Embedder",
    "GroupReranker",
    "LanguageModel",
    "Listener",
    "ModelReply",
    "ModelRequest",
    "Moments",
    "OutputCache",
    "PassageRange",
    "Passages",
    "RerankReply",
    "Reranker",
    "Scan",
    "ScanQuery",
    "Searchable",
    "Snapshot",
    "Store",
    "Tokenizer",
    "repeated_read",
]
