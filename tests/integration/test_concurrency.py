"""Processes and threads change, read and search the same documents; the checks see violations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.concurrency import run
from benchmarks.lib.concurrent_documents import (
    DOCUMENTS,
    Operation,
    check_history,
    put,
    read,
    search,
    set_note,
    text_of,
    title_of,
)
from benchmarks.lib.places import place_of

from spanwise import KnowledgeBase

LIMIT_SECONDS = 120.0  # the machine may be loaded
NAME = DOCUMENTS[0]


@pytest.mark.slow
@pytest.mark.parametrize("store", ["folder", "postgres"])
def test_histories_are_linearizable(store: str) -> None:
    """Results have parts of one version, no update is lost, and no call waits for too long."""
    with place_of(store) as address:
        outcome = run(address, seconds=5, processes=2, threads=2, limit_seconds=LIMIT_SECONDS)
    assert outcome.operations > 0
    assert {"put", "read", "search", "rebuild", "compact", "check"} <= outcome.seconds.keys()
    assert ("backup" in outcome.seconds) == (store == "folder")


def write(version: str, began: float, ended: float, *, existed: bool) -> Operation:
    return Operation(
        kind="put", document=NAME, value=version, existed=existed, began=began, ended=ended
    )


def look(version: str, began: float, ended: float, *, note: str = "") -> Operation:
    return Operation(
        kind="read", document=NAME, version=version, note=note, existed=bool(version),
        began=began, ended=ended,
    )  # fmt: skip


def test_a_correct_history_passes() -> None:
    """Every operation on two documents; the second put and the set run at once."""
    history = [
        look("", 0, 1),
        write("a", 2, 3, existed=False),
        Operation(kind="set", document=NAME, value="n", began=4, ended=7),
        write("b", 5, 6, existed=True),
        look("b", 8, 9, note="n"),
        Operation(kind="delete", document=NAME, began=10, ended=11),
        Operation(kind="delete", document=NAME, existed=False, began=12, ended=13),
        replace(look("", 14, 15), kind="search"),
    ]
    assert check_history([*history, *(replace(o, document=DOCUMENTS[1]) for o in history)]) == 16


@pytest.mark.parametrize(
    "wrong",
    [
        [look("a", 4, 5)],  # never written
        [look("", 0, 1), look("b", 1.5, 1.6)],  # read before it was written
        [write("c", 4, 5, existed=False)],  # it existed
        [Operation(kind="set", document=NAME, value="n", note="m", began=4, ended=5)],
        [Operation(kind="set", document=NAME, value="n", began=4, ended=5), look("b", 6, 7)],
        [Operation(kind="delete", document=NAME, began=4, ended=5), look("b", 6, 7)],
    ],
    ids=["stale", "too early", "added twice", "note before", "lost set", "comes back"],
)
def test_a_wrong_history_is_found(wrong: list[Operation]) -> None:
    with pytest.raises(AssertionError, match="no order explains"):
        check_history([write("b", 2, 3, existed=False), *wrong])


def test_the_operations_of_the_benchmark_report_what_they_did() -> None:
    with KnowledgeBase(":memory:") as base:
        assert set_note(base, NAME, "n") is None
        assert read(base, NAME) == ("", "")
        assert [put(base, NAME, "a"), put(base, NAME, "b")] == [False, True]
        assert set_note(base, NAME, "n") == ""
        assert set_note(base, NAME, "m") == "n"
        assert read(base, NAME) == ("b", "m")
        assert search(base, "the steady margin", None) == {NAME: ("b", "m")}


@pytest.mark.parametrize("mixed", ["text", "title", "metadata"])
def test_a_result_with_parts_of_two_versions_is_found(mixed: str) -> None:
    """The text, the title or the metadata is that of another version."""
    versions = {"text": "a", "title": "a", "metadata": "a"} | {mixed: "b"}
    with KnowledgeBase(":memory:") as base:
        base.add_text(
            text_of(NAME, versions["text"]),
            document_id=NAME,
            title=title_of(versions["title"]),
            metadata={"version": versions["metadata"]},
        )
        with pytest.raises(AssertionError, match="does not belong to"):
            search(base, "the steady margin", [NAME])
