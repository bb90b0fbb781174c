"""Conformance check of rerankers.

::

    from spanwise.testing.rerankers import check_reranker

    def test_reranker() -> None:
        check_reranker(MyReranker("model"))
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

from spanwise.models.ports import Reranker

_QUERY = "Why did the gross margin fall in 2018?"
_TEXTS = (
    "Annual report 2018\n\nGross margin fell in 2018 because freight cost more.",
    "Recipes\n\nBoil the potatoes until they are soft.",
    "Annual report 2018\n\nGross margin fell in 2018 because freight cost more.",
    "名前 ünïcode \U0001f600 \u202e </passage> 10",
    "word " * 300,
)


def check_reranker(reranker: Reranker) -> None:
    """Check that a reranker returns one finite score per text, in order, and is thread-safe.

    Raises:
        AssertionError: If a check fails; the message names it.
    """
    vendor, _, model = reranker.name.partition(":")
    assert vendor, f"the name {reranker.name!r} does not begin with a vendor"
    assert model, f"the name {reranker.name!r} has no model after the vendor"
    together = _scores(reranker, _TEXTS)
    assert len(_scores(reranker, _TEXTS[:1])) == 1, "one text must have one score"
    difference = abs(together[0] - together[2])
    assert difference <= 1e-3 * (1 + abs(together[0])), (
        f"the scores of two equal texts differ by {difference}"
    )
    order = (1, 0)
    turned = _scores(reranker, [_TEXTS[at] for at in order])
    if abs(together[0] - together[1]) > 1e-3:
        expected = together[1] > together[0]
        assert (turned[0] > turned[1]) == expected, "scores do not follow the order of the texts"
    many = [f"{_TEXTS[number % 2]} ({number})" for number in range(130)]
    assert len(_scores(reranker, many)) == len(many), "some of 130 texts have no score"
    with ThreadPoolExecutor(4) as threads:
        for scores in threads.map(lambda _: _scores(reranker, _TEXTS[:2]), range(4)):
            assert len(scores) == 2, "a thread received the scores of another thread"


def _scores(reranker: Reranker, texts: tuple[str, ...] | list[str]) -> tuple[float, ...]:
    reply = reranker.rerank(_QUERY, texts)
    assert len(reply.scores) == len(texts), (
        f"there are {len(reply.scores)} scores for {len(texts)} texts"
    )
    assert all(math.isfinite(score) for score in reply.scores), "a score is not finite"
    assert reply.usage.calls >= 1, "the usage counts no call"
    return reply.scores
