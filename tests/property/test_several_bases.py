"""Law of a search of several knowledge bases: it equals a search of one with all documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
import spanwise.errors
from spanwise import KnowledgeBase
from spanwise.errors import FilterError, OptionError, QueryError
from spanwise.filters import field
from spanwise.types import ExcerptResult, SearchResult

_SENTENCES = st.sampled_from(
    [
        "Each party shall keep confidential all information that it receives.",
        "Either party may terminate this agreement for convenience on written notice.",
        "The tenant pays the rent in advance and bears the cost of repairs.",
        "Der Mieter zahlt die Miete im Voraus und trägt die Kosten der Reparaturen.",
        "Net sales of the mill rose because freight by barge cost less than in the year before.",
        "The physician prescribed an automobile journey for the patient.",
        "Amortisation of goodwill was 12.5 million in 2018 and 14.1 million in 2019.",
    ]
)
_PARAGRAPHS = st.lists(_SENTENCES, min_size=1, max_size=6).map(" ".join)
_HEADINGS = st.sampled_from(["# Note 3 Leases", "# Note 14 Revenues", "# Limitation of liability"])
_SECTIONS = st.tuples(_HEADINGS, _PARAGRAPHS).map("\n\n".join)
_TEXTS = st.lists(_PARAGRAPHS | _SECTIONS, min_size=1, max_size=8).map("\n\n".join)
_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "year": st.sampled_from([2018, 2019, "2019"]),
        "team": st.sampled_from(["hr", "legal"]),
    },
)
_TITLES = st.sampled_from(["Aldera report 2018", "Birchwood Foods report 2019", "Lease", ""])
_DOCUMENTS = st.lists(st.tuples(_TEXTS, _TITLES, _FIELDS), max_size=3)
_QUESTIONS = st.sampled_from(
    [
        "Why did the net sales of the mill rise?",
        "Which contracts allow termination for convenience?",
        "Compare the risks of Aldera and Birchwood Foods",
        'Who may give "written notice"?',
        "Note 14 Revenues",
        "amortisatoin of goodwil",
        "What did the doctor say about cars?",
        "Wer zahlt die Miete?",
        "zebra",
    ]
)
_FILTERS = st.sampled_from(
    [None, field("year") == 2019, ~(field("year") == 2018), field("team").exists()]
)
_ADDED = tuple[str, str, Mapping[str, Any]]


def base_of(parts: Sequence[tuple[str, Sequence[_ADDED]]], embedder: str | None) -> KnowledgeBase:
    """Return a knowledge base with documents; ids begin with the prefix of their part."""
    base = KnowledgeBase(":memory:", embedder=embedder)
    for prefix, documents in parts:
        for number, (text, title, fields) in enumerate(documents):
            base.add_text(
                text,
                document_id=f"{prefix}{number}",
                title=title,
                media_type="text/markdown",
                metadata=fields,
            )
    return base


def plain(result: SearchResult | ExcerptResult) -> dict[str, Any]:
    """Return a result without its timings and the names of knowledge bases."""

    def nameless(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {key: nameless(item) for key, item in value.items()}
            return {**kept, "knowledge_base": ""} if "knowledge_base" in kept else kept
        return [nameless(item) for item in value] if isinstance(value, list) else value

    shown: dict[str, Any] = nameless(replace(result, seconds={}).to_dict())
    return shown


def outcome(call: Any) -> dict[str, Any] | tuple[type[Exception], str]:
    """Return the plain result of a call, or its error."""
    try:
        return plain(call())
    except (OptionError, QueryError, FilterError) as error:
        return type(error), str(error)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    parts=st.tuples(_DOCUMENTS, _DOCUMENTS, _DOCUMENTS),
    question=_QUESTIONS,
    where=_FILTERS,
    budget=st.sampled_from([150, 1_000, 4_000]),
    preset=st.sampled_from(["precise", "balanced", "comprehensive"]),
    embedder=st.sampled_from(["auto", None]),
)
def test_the_result_is_that_of_one_knowledge_base_with_all_documents(
    parts: tuple[list[_ADDED], list[_ADDED], list[_ADDED]],
    question: str,
    where: Any,
    budget: int,
    preset: str,
    embedder: str | None,
) -> None:
    named = list(zip("abc", parts, strict=True))
    bases = [base_of([part], embedder) for part in named]
    with base_of(named, embedder) as merged:
        arguments: dict[str, Any] = {"where": where, "headers": False, "preset": preset}
        assert outcome(
            lambda: spanwise.search(bases, question, budget_tokens=budget, **arguments)
        ) == outcome(lambda: merged.search(question, budget_tokens=budget, **arguments))
        assert outcome(
            lambda: spanwise.excerpts(bases, question, excerpt_tokens=budget, **arguments)
        ) == outcome(lambda: merged.excerpts(question, excerpt_tokens=budget, **arguments))
