"""How servers of rerankers are asked, and what they answer.

Written after the published references:
    Cohere    https://docs.cohere.com/reference/rerank
    Voyage    https://docs.voyageai.com/reference/reranker-api
    Jina      https://api.jina.ai/redoc#tag/rerank
    vLLM      https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (Jina's form)
    llama.cpp https://github.com/ggml-org/llama.cpp/tree/master/tools/server (Jina's form)
    TEI       https://huggingface.github.io/text-embeddings-inference (Text Embeddings Inference)
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.providers.vendors.catalog import Vendor

__all__ = ["FORMATS", "Format", "read_scores", "read_tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How one kind of server is asked."""

    vendor: Vendor
    texts: int
    """Most texts of one call; below what the server refuses."""
    path: str = "rerank"
    """Behind the address."""
    texts_name: str = "documents"
    """Of the field that holds the texts."""
    scores_name: str = "results"
    """Of the field that holds the scores; empty where the answer is their list."""
    score_name: str = "relevance_score"
    extra: tuple[tuple[str, object], ...] = ()
    """Further fields of the request."""

    def body(self, model: str, query: str, texts: Sequence[str]) -> dict[str, object]:
        """Return what is sent."""
        body: dict[str, object] = {"model": model, "query": query, self.texts_name: list(texts)}
        return body | dict(self.extra)


_GREATEST = sys.float_info.max  # JSON may hold greater whole numbers, and infinity
_SERVER_KEYS, _SERVER_ADDRESS = ("RERANK_API_KEY",), "RERANK_BASE_URL"
_ALL = (
    Format(
        vendor=Vendor(
            name="cohere",
            keys=("CO_API_KEY",),
            address_variable="CO_API_URL",
            address="https://api.cohere.com",
        ),
        path="v2/rerank",
        texts=500,
    ),
    Format(
        vendor=Vendor(
            name="voyage",
            keys=("VOYAGE_API_KEY",),
            address_variable="VOYAGE_BASE_URL",
            address="https://api.voyageai.com/v1",
        ),
        texts=250,  # all together at most 600,000 tokens, the query counted with each text
        scores_name="data",
    ),
    Format(
        vendor=Vendor(
            name="jina",
            keys=("JINA_API_KEY",),
            address_variable="JINA_BASE_URL",
            address="https://api.jina.ai/v1",
        ),
        texts=250,
        extra=(("return_documents", False),),
    ),
    Format(
        vendor=Vendor(
            name="server",
            keys=_SERVER_KEYS,
            needs_key=False,
            address_variable=_SERVER_ADDRESS,
            is_own=True,
        ),
        texts=100,
    ),
    Format(
        vendor=Vendor(
            name="tei",
            keys=_SERVER_KEYS,
            needs_key=False,
            address_variable=_SERVER_ADDRESS,
            is_own=True,
        ),
        texts=32,  # its default for --max-client-batch-size
        texts_name="texts",
        scores_name="",
        score_name="score",
        extra=(("truncate", True),),
    ),
)
FORMATS = {one.vendor.name: one for one in _ALL}
"""By name of the vendor; "server" is any other server with `/rerank` (vLLM, llama.cpp ...)."""


def read_scores(answer: object, count: int, *, form: Format) -> list[float]:
    """Return one score a text, in the order of the texts.

    Args:
        answer: What the JSON of an answer holds.
        count: How many texts there are.
        form: How the server answers.

    Raises:
        ValueError: If it is of another form, or a text has no score or several.
    """
    name = form.scores_name
    found = answer.get(name) if isinstance(answer, Mapping) else answer
    if not (isinstance(found, list) and len(found) == count):
        given = len(found) if isinstance(found, list) else "no"
        raise ValueError(f"it holds {given} scores for {count} texts")
    scores: dict[int, float] = {}
    for one in found:
        index, score = _number(one, "index"), _number(one, form.score_name)
        if index is None or index not in range(count) or index in scores or score is None:
            raise ValueError(f"it gives the text {index!r} of {count} the score {score!r}")
        scores[int(index)] = float(score)
    return [scores[index] for index in range(count)]


def read_tokens(answer: object) -> int:
    """Return the tokens that a server says it read; 0 where it does not."""
    if not isinstance(answer, Mapping):
        return 0
    usage, meta = answer.get("usage"), answer.get("meta")
    counts: list[object] = []
    if isinstance(usage, Mapping):
        counts = [usage.get("total_tokens"), usage.get("prompt_tokens")]
    elif isinstance(meta, Mapping) and isinstance(meta.get("tokens"), Mapping):
        counts = [meta["tokens"].get("input_tokens")]
    # Cohere gives whole numbers as floats.
    numbers = (one for one in counts if isinstance(one, int | float))
    return next((int(one) for one in numbers if 0 <= one <= _GREATEST), 0)


def _number(one: object, name: str) -> int | float | None:
    """Return the number in a field; None where there is none that a float can hold."""
    value = one.get(name) if isinstance(one, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _GREATEST else None
