"""Questions checked, bounded and read, before anything is searched.

Rules:
    1. A text that is too long, empty or not valid Unicode is refused before any work.
    2. Of a very long question, the distinct words that are rarest in the documents and most often
       repeated are kept, in their order. Everything after that works on these alone: the terms
       that are searched by, the vector and the reranker.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.question import check_question, check_question_length, read_question
from spanwise.core.text.terms import stem_language, word_pieces, word_terms
from spanwise.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.stores.port import Searchable


_MAX_QUERIES = 16
_LONG_CHARS = 8_192
"""Characters up to which a question is read as it is."""
_KEPT_WORDS = 512
"""Words that are kept of a longer question."""
_BATCH = 4_096
"""Words that are looked up at a time, which bounds the memory."""


def read_questions(texts: Sequence[str], searchable: Searchable) -> tuple[Question, ...]:
    """Return a question and its further queries, each once, in the languages of the documents.

    Args:
        texts: The question, then the queries.
        searchable: The documents; they say which words of a long question are rare.

    Raises:
        QueryError: If a text has no word, or as `check_question`; or if there are too many.
    """
    if len(texts) > _MAX_QUERIES:
        raise QueryError(
            f"{len(texts)} queries are given, the question among them; give at most {_MAX_QUERIES}"
        )
    distinct = tuple(dict.fromkeys(check_question(text) for text in texts))
    check_question_length(sum(map(len, distinct)))
    languages = searchable.languages()
    return tuple(_read(text, languages, searchable) for text in distinct)


def _read(text: str, languages: Sequence[str], searchable: Searchable) -> Question:
    if len(text) <= _LONG_CHARS:
        question = read_question(text, languages=languages)
    else:
        uses = Counter(word_pieces(text))
        kept = _telling_words(uses, languages, searchable)
        question = replace(
            read_question(" ".join(kept), languages=languages),
            original_text=text,
            original_words=len(uses),
        )
    if not question.terms:
        raise QueryError(f"the question is {text[:80]!r}; ask in at least one word")
    return question


def _telling_words(
    uses: Mapping[str, int], languages: Sequence[str], searchable: Searchable
) -> list[str]:
    """Return the words that say most about a question, as `telling_terms`, in their order."""
    stemmers = sorted({stem_language(language) for language in languages or ("",)})
    weights = [_weights(batch, stemmers, searchable) for batch in _batches(list(uses))]
    counts = np.fromiter(uses.values(), dtype=np.float64, count=len(uses))
    values = np.concatenate([*weights, np.zeros(0)]) * (1 + np.log(counts))
    best = set(np.argsort(-values, kind="stable")[:_KEPT_WORDS].tolist())
    return [word for at, word in enumerate(uses) if at in best]


def _batches(words: Sequence[str]) -> Iterator[Sequence[str]]:
    rest = iter(words)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _weights(
    words: Sequence[str], stemmers: Sequence[str], searchable: Searchable
) -> NDArray[np.float64]:
    """Return the weight of the rarest term of each word; 0 where no document holds any."""
    terms = [
        [term for name in stemmers for term in word_terms(word, language=name)] for word in words
    ]
    owners = np.repeat(np.arange(len(words)), [len(one) for one in terms])
    holders, chunks = searchable.term_counts([term for one in terms for term in one])
    found = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
    weights = np.zeros(len(words))
    np.maximum.at(weights, owners, found)
    return weights
