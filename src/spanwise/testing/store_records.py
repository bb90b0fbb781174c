"""Conformance checks of stores: cached model outputs, and conversations."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spanwise.errors import OptionError
from spanwise.stores.port import Store
from spanwise.testing.store_entries import SETTINGS, make_entry, make_output
from spanwise.testing.store_suite import StoreSuite
from spanwise.types import (
    Answer,
    AnswerCalculation,
    AnswerCitation,
    CalculationOperand,
    Citation,
    Thread,
    ThreadInfo,
    Turn,
    UnsupportedClaim,
    Usage,
)

_ODD_OUTPUTS = (
    "",
    "{}",
    "zero \x00 byte",
    "half \ud800 pair",
    "収益 \U0010ffff\r\n",
    "x" * 1_000_000,
)
_THREADS = 8
_EACH = 25
_TOGETHER = 150


class OutputChecks(StoreSuite):
    """Checks of the cache of model outputs (`OutputCache`)."""

    def test_an_output_comes_back_as_it_was_put(self, store: Store) -> None:
        """An output is returned unchanged, and only under its key."""
        for number, output in enumerate(_ODD_OUTPUTS):
            store.put_outputs([make_output(f"key {number}", output)])
        for number, output in enumerate(_ODD_OUTPUTS):
            key = f"key {number}"
            assert store.get_outputs([key]) == {key: output}, "as it was put"
        assert store.get_outputs(["key"]) == {}
        assert store.get_outputs(["half \ud800 pair"]) == {}

    def test_the_first_output_under_a_key_stays(self, store: Store) -> None:
        """A second output under the same key is ignored."""
        store.put_outputs([make_output("key", "first")])
        store.put_outputs([make_output("key", "second", model="a:c")])
        assert store.get_outputs(["key"]) == {"key": "first"}, "the first one stays"

    def test_several_outputs_are_put_and_read_at_once(self, store: Store) -> None:
        """Outputs of several keys are read together; keys without an output are left out."""
        keys = [f"key {number}" for number in range(_TOGETHER)]
        store.put_outputs([make_output(key, f"first {key}") for key in keys[:2]])
        store.put_outputs([make_output(key, f"second {key}") for key in keys[1:]])
        expected = {key: f"second {key}" for key in keys} | {keys[0]: f"first {keys[0]}"}
        expected[keys[1]] = f"first {keys[1]}"
        wanted = ["unknown", *reversed(keys), "half \ud800 pair", keys[0]]
        assert store.get_outputs(wanted) == expected, "all at once"
        assert store.count_outputs()[0] == _TOGETHER
        store.put_outputs([])
        assert store.get_outputs([]) == {}

    def test_the_first_of_several_outputs_of_a_key_stays(self, store: Store) -> None:
        """A key that is given twice keeps its first output."""
        store.put_outputs([make_output("key", "first"), make_output("key", "another")])
        assert store.get_outputs(["key"]) == {"key": "first"}, "the first of both"

    def test_a_removed_output_can_be_put_again(self, store: Store) -> None:
        """One output can be deleted; others stay, and an unknown key is ignored."""
        store.put_outputs([make_output("key", "first")])
        store.put_outputs([make_output("other", "kept")])
        store.remove_output("key")
        store.remove_output("unknown")
        assert store.get_outputs(["key"]) == {}, "removed"
        store.put_outputs([make_output("key", "second")])
        assert store.get_outputs(["key", "other"]) == {"key": "second", "other": "kept"}

    def test_outputs_do_not_depend_on_documents(self, store: Store) -> None:
        """Outputs are kept when documents are deleted."""
        store.put_document(make_entry("a", ["lease"]))
        store.put_outputs([make_output("key", "kept")])
        store.delete_document("a")
        store.compact()
        assert store.get_outputs(["key"]) == {"key": "kept"}

    def test_outputs_are_counted_and_forgotten(self, store: Store) -> None:
        """Outputs are counted, all outputs can be deleted, and new ones can be stored."""
        assert store.count_outputs() == (0, 0)
        store.put_outputs([make_output("one", "12345")])
        store.put_outputs([make_output("two", "é")])
        assert store.count_outputs() == (2, 7), "number and bytes in UTF-8"
        assert store.forget_outputs() == 2
        assert store.get_outputs(["one"]) == {}, "forgotten"
        assert store.forget_outputs() == 0
        store.put_outputs([make_output("one", "again")])
        assert store.get_outputs(["one"]) == {"one": "again"}

    def test_threads_keep_outputs_at_once(self, store: Store) -> None:
        """A thread reads its own output, and all threads read the same output of a shared key."""
        begun = threading.Barrier(_THREADS)

        def keep(thread: int) -> set[str]:
            begun.wait(timeout=60)
            found: set[str] = set()
            for number in range(_EACH):
                key = f"{thread} {number}"
                store.put_outputs([make_output(key, key)])
                assert store.get_outputs([key]) == {key: key}, "as soon as it was put"
                store.put_outputs([make_output(f"shared {number}", key)])
                found |= set(store.get_outputs([f"shared {number}"]).values())
            return found

        with ThreadPoolExecutor(_THREADS) as pool:
            found = [
                future.result(timeout=60)
                for future in [pool.submit(keep, thread) for thread in range(_THREADS)]
            ]
        assert all(item == found[0] for item in found), "the same for all"
        assert store.count_outputs()[0] == (_THREADS + 1) * _EACH

    def test_outputs_are_there_when_it_is_opened_again(self, tmp_path: Path) -> None:
        """Outputs persist and are visible to other handles, except for stores in memory."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        beside = self.open_store(tmp_path / "store")
        store.put_outputs([make_output("key", "kept")])
        expected = {"key": "kept"} if self.on_disk else {}
        assert beside.get_outputs(["key"]) == expected, "another handle"
        store.close()
        beside.close()
        again = self.open_store(tmp_path / "store")
        assert again.get_outputs(["key"]) == expected, "opened again"
        again.close()


_ODD = "Zero \x00, CRLF\r\n, 収益 \U0010ffff, '; --"
_WRITERS = 4
_TURNS = 12


def make_turn(question: str, *, minute: int = 0) -> Turn:
    """Return a turn of a conversation with one verified and one unverified citation.

    Args:
        question: The question.
        minute: Time in minutes after a fixed time, at most 59.
    """
    place = Citation(
        document_id="report/07",
        title=_ODD,
        start=3,
        end=9,
        pages=(1, 2),
        page_labels=("F-1", "F-2"),
        section_path=("Part 1", "Leases"),
        sections=(("Part 1", "Leases"), ("Part 1", "Taxes")),
        source="reports/07",
        version="0123456789ab",
        quote="margin",
        text_hash="ab" * 32,
    )
    answer = Answer(
        question=question,
        text=f"{_ODD} half \ud800 pair [1][2]",
        citations=(
            AnswerCitation(
                number=1, quote="margin", status="near", similarity=0.96, citation=place
            ),
            AnswerCitation(number=2, quote="none", status="failed", similarity=0.0, citation=None),
        ),
        refused=False,
        queries=(question, "lease"),
        where="year = 2018",
        conflicts=("Two say 3, one says 4 [1].",),
        assumed=_ODD,
        missing="the year 2019",
        unsupported=(UnsupportedClaim(claim="4", kind="number", statement=_ODD),),
        calculations=(
            AnswerCalculation(
                formula="a - 1",
                operands=(CalculationOperand(name="a", value="(3)", citation=1),),
                status="wrong",
                result="-4",
                given="2",
                problem="the result is -4, not 2",
            ),
        ),
        sources=(place, Citation(document_id="b", title="", start=0, end=1)),
        data={"amounts": [1, 2.5, None, {"deep": [True, []]}], "name": _ODD},
        model="scripted:model",
        usage=Usage(calls=2, input_tokens=1_000, cost=None, seconds=0.25),
        warnings=("one",),
        seconds={"search": 0.5, "answer": 1.0},
        thread="thread",
    )
    return Turn(
        question=question,
        standalone=f"{question} (of the mill)",
        answer=answer,
        asked_at=f"2026-01-01T00:{minute:02}:00Z",
    )


class ThreadChecks(StoreSuite):
    """Checks of conversations."""

    def test_a_conversation_comes_back_as_it_was_had(self, store: Store) -> None:
        """All turns are returned unchanged and in order."""
        assert store.get_thread("a") is None
        turns = (make_turn("Who?"), make_turn(_ODD, minute=2), make_turn("Why?", minute=5))
        for turn in turns:
            store.append_turn("a", turn)
        info = ThreadInfo(
            id="a",
            title="Who?",
            turns=3,
            created_at="2026-01-01T00:00:00Z",
            changed_at="2026-01-01T00:05:00Z",
        )
        assert store.get_thread("a") == Thread(info=info, turns=turns), "every field"
        assert store.list_threads() == [info]

    def test_conversations_are_listed_by_their_latest_turn(self, store: Store) -> None:
        """Conversations are sorted by their latest turn, newest first; ties by id."""
        for thread_id, minute in (("b", 1), ("ü '\x00", 7), ("a", 1), ("c", 3), ("b", 5)):
            store.append_turn(thread_id, make_turn(f"Question {minute}?", minute=minute))
        listed = [(info.id, info.turns, info.title) for info in store.list_threads()]
        assert listed == [
            ("ü '\x00", 1, "Question 7?"),
            ("b", 2, "Question 1?"),
            ("c", 1, "Question 3?"),
            ("a", 1, "Question 1?"),
        ], "the latest first"
        store.append_turn("d", make_turn("Question 1?", minute=1))
        assert [info.id for info in store.list_threads()][-2:] == ["a", "d"], "by id"

    def test_a_deleted_conversation_is_gone(self, store: Store) -> None:
        """A deletion removes all turns; the id can be reused."""
        for thread_id in ("a", "b"):
            for minute in range(3):
                store.append_turn(thread_id, make_turn(f"{thread_id} {minute}", minute=minute))
        assert store.delete_thread("a")
        assert not store.delete_thread("a")
        assert store.get_thread("a") is None, "gone"
        assert [info.id for info in store.list_threads()] == ["b"]
        store.append_turn("a", make_turn("anew"))
        thread = store.get_thread("a")
        assert thread is not None
        assert [turn.question for turn in thread.turns] == ["anew"], "begins anew"
        assert store.check().findings == ()

    def test_an_id_that_cannot_be_written_is_refused(self, store: Store) -> None:
        """A lone surrogate is rejected, and no part of the turn is stored."""
        with pytest.raises(OptionError, match="surrogate"):
            store.append_turn("half \ud800 pair", make_turn("Who?"))
        with pytest.raises(OptionError, match="surrogate"):
            store.append_turn("a", make_turn("half \ud800 pair?"))
        assert store.get_thread("half \ud800 pair") is None
        assert not store.delete_thread("half \ud800 pair")
        assert store.list_threads() == []

    def test_threads_append_turns_at_once(self, store: Store) -> None:
        """Concurrent writers lose no turn, and the turns of each writer stay in order."""

        def write(writer: int) -> None:
            for number in range(_TURNS):
                store.append_turn("shared", make_turn(f"{writer} {number}", minute=number))
                thread = store.get_thread("shared")
                assert thread is not None
                questions = [turn.question for turn in thread.turns]
                assert f"{writer} {number}" in questions, "its own turn"
                assert thread.info.turns == len(questions), "as many as there are"

        with ThreadPoolExecutor(_WRITERS) as pool:
            for future in [pool.submit(write, writer) for writer in range(_WRITERS)]:
                future.result(timeout=60)
        thread = store.get_thread("shared")
        assert thread is not None
        questions = [turn.question for turn in thread.turns]
        for writer in range(_WRITERS):
            own = [question for question in questions if question.startswith(f"{writer} ")]
            assert own == [f"{writer} {number}" for number in range(_TURNS)], "none is lost"
        assert thread.info.turns == len(questions) == _WRITERS * _TURNS

    def test_conversations_are_there_when_it_is_opened_again(self, tmp_path: Path) -> None:
        """Conversations persist and are included in a backup, except for stores in memory."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        store.append_turn("a", make_turn("Who?"))
        store.append_turn("a", make_turn("Why?", minute=1))
        kept = store.get_thread("a")
        if self.copies:
            store.backup(tmp_path / "copy")
        store.close()
        again = self.open_store(tmp_path / "store")
        assert again.get_thread("a") == (kept if self.on_disk else None), "opened again"
        again.close()
        if self.copies:
            copy = self.open_store(tmp_path / "copy")
            assert copy.get_thread("a") == kept, "in a copy"
            copy.close()
