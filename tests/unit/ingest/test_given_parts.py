"""Parts that the caller gives, put in the place of what would be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.ingest.given_parts import given_sections, parts_of, stored_parts, with_contexts
from spanwise.stores.opening import open_store
from spanwise.testing.store_entries import SETTINGS, make_entry
from spanwise.types import Chunk, Document, GivenContext, GivenParts, Section

DOCUMENT = Document(id="a", text="0123456789")


def section(start: int, end: int, path: tuple[str, ...] = ()) -> Section:
    return Section(start=start, end=end, title=f"S{start}", path=path)


def context(start: int, end: int) -> GivenContext:
    return GivenContext(start=start, end=end, text=f"C{start}")


def chunks(*starts: int) -> list[Chunk]:
    return [
        Chunk(index=index, start=start, end=start + 1, section=0, tokens=1, text="x")
        for index, start in enumerate(starts)
    ]


def test_sections_are_taken_and_a_path_is_made_where_there_is_none() -> None:
    given = GivenParts(sections=(section(0, 4), section(4, 10, ("P", "S4"))))
    assert [one.path for one in given_sections(DOCUMENT, given)] == [("S0",), ("P", "S4")]
    assert given_sections(DOCUMENT, GivenParts()) == ()


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ([(1, 10)], "must begin at 0"),
        ([(0, 4), (5, 10)], "must begin at 4"),
        ([(0, 4), (3, 10)], "must begin at 4"),
        ([(0, 4), (4, 4), (4, 10)], "not be empty"),
        ([(0, 9)], "the sections end at 9 and the text at 10"),
        ([(0, 11)], "the sections end at 11"),
    ],
)
def test_sections_that_are_no_partition_are_refused(
    sections: list[tuple[int, int]], said: str
) -> None:
    given = GivenParts(sections=tuple(section(*one) for one in sections))
    with pytest.raises(OptionError, match=said):
        given_sections(DOCUMENT, given)


@pytest.mark.parametrize(
    ("contexts", "said"),
    [
        ([(-1, 4)], "the text has 10 characters"),
        ([(4, 11)], "the text has 10 characters"),
        ([(4, 4)], "the text has 10 characters"),
        ([(0, 4), (3, 5)], "overlaps the one that ends at 4"),
        ([(4, 6), (0, 2)], "overlaps"),
    ],
)
def test_contexts_outside_of_the_text_or_in_disorder_are_refused(
    contexts: list[tuple[int, int]], said: str
) -> None:
    given = GivenParts(contexts=tuple(context(*one) for one in contexts))
    with pytest.raises(OptionError, match=said):
        given_sections(DOCUMENT, given)


def test_a_chunk_gets_the_context_of_the_range_it_begins_in() -> None:
    given = GivenParts(contexts=(context(1, 3), context(5, 8)))
    placed = with_contexts(chunks(0, 1, 2, 3, 5, 7, 8), given)
    assert [chunk.context for chunk in placed] == ["", "C1", "C1", "", "C5", "C5", ""]


def test_stored_parts_make_the_same_document_again() -> None:
    store = open_store(Path(":memory:"), create=True)
    store.ensure_settings(SETTINGS)
    store.put_document(make_entry("a", ["One.\n", "Two.\n"], title="T"))
    record = store.get_record("a")
    assert record is not None
    parts = stored_parts(store, record)
    assert (parts.title, parts.summary) == ("", record.summary), "nobody gave or made its title"
    assert parts.sections == store.get_sections("a")
    assert [(one.start, one.text) for one in parts.contexts] == [
        (chunk.start, chunk.context) for chunk in store.get_chunks("a") if chunk.context
    ]


def test_an_extracted_summary_is_no_stored_part() -> None:
    """It is extracted again, so documents of earlier versions lose a summary from a first page."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        for summary in ("", "A log."):
            base.add_text(
                "Fair weather all day.\n",
                document_id=summary or "a",
                given=GivenParts(summary=summary),
            )
            record = base.record(summary or "a")
            parts = parts_of(record, base.sections(record.id), base.chunks(record.id))
            assert record.summary == (summary or "Fair weather all day.")
            assert parts.summary == summary


def test_a_title_that_was_made_or_given_is_a_stored_part() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("# Log\n\nFair.", document_id="a", given=GivenParts(title="Of the Ada"))
        base.add_text("# Log\n\nFair.", document_id="b", given=GivenParts(summary="A log."))
        for document_id in ("a", "b"):
            base.add_text("# Log\n\nFair.", document_id=document_id, title="My log")
        assert [(one.title, one.summary) for one in base.list()] == [
            ("Of the Ada", "Fair."), ("My log", "A log.")
        ]  # fmt: skip


def test_given_parts_stand_in_headers_and_are_searched() -> None:
    text = "Costs rose.\nSails fell."
    given = GivenParts(
        title="Log of the Ada",
        summary="A ship.",
        sections=(
            Section(start=0, end=12, title="Costs", path=(), summary="Of money."),
            Section(start=12, end=len(text), title="Sails", path=()),
        ),
        contexts=(GivenContext(start=0, end=12, text="Written by the purser."),),
    )
    with KnowledgeBase(":memory:", embedder=None) as base:
        assert base.add_text(text, document_id="log", given=given).added == ("log",)
        assert base.add_text(text, document_id="log", given=given).unchanged == ("log",)
        assert base.add_text(text, document_id="log").unchanged == ("log",)
        (segment,) = base.search("Who was the purser?").segments
        assert segment.header.split("\n") == [
            "Log of the Ada",
            "A ship.",
            "Costs; Sails",
            "Of money.",
        ]
        assert "purser" not in segment.text


def test_parts_for_a_document_that_is_none_of_the_run_are_told() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        report = base.add(__file__, given={"other.py": GivenParts(title="T")})
    assert "parts are given for 'other.py', which is not a document of this run" in (
        report.warnings
    )


@pytest.mark.parametrize("given", [[], {"a": "T"}, {"a": GivenParts(title="\ud800")}])
def test_what_cannot_be_stored_is_refused(given: object) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base, pytest.raises(OptionError):
        base.add(__file__, given=given)  # type: ignore[arg-type]
