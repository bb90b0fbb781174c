"""Validation and analysis of questions, with a limit on very long ones.

Rules:
    1. A text that is too long, empty or not valid Unicode is an error.
    2. A very long question is reduced to its most informative distinct words: words that are rare
       in the documents, or repeated often. They stay in order. Search terms, vector and reranker
       use only these words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.question import check_question, check_question_length, read_question
from spanwise.core.text.terms import stem_language, word_pieces, word_terms
from spanwise.errors import QueryError
from spanwise.search.spelling import mend_spelling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.stores.port import Searchable


_MAX_QUERIES = 16
_LONG_CHARS = 8_192
"""Maximum length of a question that is used unchanged, in characters."""
_MAX_WORDS = 512
"""Maximum number of words of a longer question."""
_BATCH = 4_096
"""Number of words looked up together; limits the memory."""


def read_questions(texts: Sequence[str], searchable: Searchable) -> tuple[Question, ...]:
    """Return the analysis of a question and its additional queries, without repetitions.

    Args:
        texts: The question, then the queries.
        searchable: Documents to search, for their languages and the frequencies of words.

    Raises:
        QueryError: If there are too many queries, a text has no word, or `check_question` fails.
    """
    if len(texts) > _MAX_QUERIES:
        raise QueryError(
            f"there are {len(texts)} queries including the question; give at most {_MAX_QUERIES}"
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
        selected = _informative_words(uses, languages, searchable)
        question = replace(
            read_question(" ".join(selected), languages=languages),
            original_text=text,
            original_words=len(uses),
        )
    if not question.terms:
        raise QueryError(f"the question is {text[:80]!r}; ask in at least one word")
    return question if question.original_text else mend_spelling(question, searchable)


def _informative_words(
    uses: Mapping[str, int], languages: Sequence[str], searchable: Searchable
) -> list[str]:
    """Return the most informative words in order, scored like `informative_terms`.

    Args:
        uses: Number of occurrences of each word in the question.
        languages: Languages of the documents.
        searchable: Documents to search.
    """
    stemmers = sorted({stem_language(language) for language in languages or ("",)})
    words = list(uses)
    weights = [
        _weights(words[start : start + _BATCH], stemmers, searchable)
        for start in range(0, len(words), _BATCH)
    ]
    counts = np.fromiter(uses.values(), dtype=np.float64, count=len(uses))
    values = np.concatenate([*weights, np.zeros(0)]) * (1 + np.log(counts))
    best = set(np.argsort(-values, kind="stable")[:_MAX_WORDS].tolist())
    return [word for at, word in enumerate(words) if at in best]


def _weights(
    words: Sequence[str], stemmers: Sequence[str], searchable: Searchable
) -> NDArray[np.float64]:
    """Return the weight of the rarest term of each word; 0 if no document contains one."""
    terms = [
        [term for name in stemmers for term in word_terms(word, language=name)] for word in words
    ]
    owners = np.repeat(np.arange(len(words)), [len(word_forms) for word_forms in terms])
    holders, chunks = searchable.term_counts([term for word_forms in terms for term in word_forms])
    term_weights = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
    weights = np.zeros(len(words))
    np.maximum.at(weights, owners, term_weights)
    return weights
