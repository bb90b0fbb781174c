"""Correction of typing errors: search terms for the misspelt words of a question.

A word is unknown if no chunk and no title contains any of its terms. If it is misspelt, the terms
of the word with the nearest spelling are added as forms of its term, so the word counts once. The
text and the vector of the question are unchanged. Without the package `wordllama`, nothing is
corrected.

Each word is compared with all words of the documents. Of a long question, only the first
`MAX_TERMS` words that may be misspelt are therefore compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.core.ranking.question import MAX_TERMS, Correction
from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.ranking.spelling import is_misspelt, may_be_misspelt
from spanwise.core.text.terms import stem_language, word_terms
from spanwise.models.providers.wordllama import count_pieces

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from spanwise.core.ranking.question import Question
    from spanwise.stores.port import Searchable


def mend_spelling(question: Question, searchable: Searchable) -> Question:
    """Return a question whose misspelt words are searched in the spelling of the documents.

    Args:
        question: The question.
        searchable: Documents to search.
    """
    known = frozenset(question.terms)
    content = {
        word: term
        for word, term in zip(question.words, question.stems, strict=True)
        if term in known and word.isalpha()
    }
    unknown = _unknown(content.values(), question, searchable)
    absent = [word for word, term in content.items() if term in unknown]
    pieces = dict(zip(absent, count_pieces(absent), strict=False))
    broken = [word for word, count in pieces.items() if may_be_misspelt(word, pieces=count)]
    titled = _titled({content[word] for word in broken}, question, searchable)
    words = [word for word in broken if content[word] not in titled][:MAX_TERMS]
    found = searchable.similar_spellings(words) if words else ()
    near = {word: nearest for word, nearest in zip(words, found, strict=True) if nearest}
    nearest_pieces = count_pieces([nearest.word for nearest in near.values()])
    corrections = [
        Correction(word, nearest.word)
        for (word, nearest), count in zip(near.items(), nearest_pieces, strict=True)
        if is_misspelt(
            word,
            nearest.word,
            edits=round((1 - nearest.similarity) * len(word)),
            pieces=pieces[word],
            nearest_pieces=count,
        )
    ]
    return _with_forms(question, corrections, content, searchable.languages())


def _forms(terms: Collection[str], question: Question) -> list[tuple[str, str]]:
    """Return all forms of some terms of a question, each with its term."""
    return [
        (form, term)
        for term in dict.fromkeys(terms)
        for form in (term, *question.other_forms.get(term, ()))
    ]


def _unknown(terms: Collection[str], question: Question, searchable: Searchable) -> frozenset[str]:
    """Return the terms of a question that no chunk contains in any form."""
    forms = _forms(terms, question)
    counts, _ = searchable.term_counts([form for form, _ in forms])
    known = {term for (_, term), count in zip(forms, counts.tolist(), strict=True) if count}
    return frozenset(terms) - known


def _titled(terms: Collection[str], question: Question, searchable: Searchable) -> frozenset[str]:
    """Return the terms of a question that a title contains in any form."""
    if not terms:
        return frozenset()
    forms = _forms(terms, question)
    query = ScanQuery(terms=tuple(form for form, _ in forms), vector=None, hits=1)
    titles = searchable.scan(query).title_documents.tolist()
    return frozenset(term for (_, term), count in zip(forms, titles, strict=True) if count)


def _with_forms(
    question: Question,
    corrections: Sequence[Correction],
    terms: Mapping[str, str],
    languages: Sequence[str],
) -> Question:
    """Return a question with the terms of corrections as additional forms.

    Each form belongs to one term only.
    """
    if not corrections:
        return question
    stemmers = sorted({stem_language(language) for language in languages or ("",)})
    known = set(question.forms()[0])
    other_forms = dict(question.other_forms)
    for correction in corrections:
        term = terms[correction.word]
        for language in stemmers:
            new = [
                form
                for form in word_terms(correction.found, language=language)[:1]
                if form not in known
            ]
            other_forms[term] = (*other_forms.get(term, ()), *new)
            known.update(new)
    return replace(question, other_forms=other_forms, corrections=tuple(corrections))
