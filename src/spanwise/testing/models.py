"""Test doubles: a language model and a reranker whose outputs come from a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from spanwise.models.ports import ModelReply, ModelRequest, RerankReply
from spanwise.types import Usage

_CHARS_A_TOKEN = 4


@dataclass(slots=True)
class ScriptedModel:
    """Language model that returns the output of a function and records its requests."""

    answer: Callable[[ModelRequest], str]
    """Function that returns the answer to a request; it may raise a `ModelError`."""
    name: str = "scripted:model"
    concurrency: int = 4
    dollars_a_token: float | None = 0.0
    """Price of a token in US dollars; None if unknown."""
    requests: list[ModelRequest] = field(default_factory=list)
    """Recorded requests, in order."""

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the maximum usage of a call; a token is four characters."""
        return self._usage(request, request.max_output_tokens)

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the output of the function."""
        self.requests.append(request)
        text = self.answer(request)
        return ModelReply(text=text, usage=self._usage(request, _tokens(text)), model=self.name)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the answer word by word, then the whole reply."""
        reply = self.generate(request)
        for number, word in enumerate(reply.text.split(" ")):
            yield f" {word}" if number else word
        yield reply

    def _usage(self, request: ModelRequest, output_tokens: int) -> Usage:
        count = _tokens(request.instructions + request.shared + request.prompt)
        price = self.dollars_a_token
        return Usage(
            calls=1,
            input_tokens=count,
            output_tokens=output_tokens,
            cost=None if price is None else price * (count + output_tokens),
        )


@dataclass(slots=True)
class ScriptedReranker:
    """Reranker that returns the scores of a function and records its requests."""

    score: Callable[[str, str], float]
    """Function that returns the score of a query and a text."""
    name: str = "scripted:reranker"
    requests: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Recorded requests, in order: query and texts."""
    dollars_a_call: float | None = 0.0
    """Price of a call in US dollars; None if unknown."""

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the usage of a call."""
        del query, texts
        return Usage(calls=1, cost=self.dollars_a_call)

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return the scores of the function."""
        self.requests.append((query, tuple(texts)))
        scores = tuple(self.score(query, text) for text in texts)
        return RerankReply(scores=scores, usage=self.estimate(query, texts))


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARS_A_TOKEN)
