"""Operations of a knowledge base that the crash tests kill, and what each of them must leave.

An operation starts from a state that `prepare` makes, and ends in another one. It can be started
again after a kill. It calls `acknowledge` for each document that is finished. The state of a
document is the version of its text and a number of its metadata, or None for an absent document.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.rebuilds import HashEmbedder

from spanwise import ChunkOptions, KnowledgeBase
from spanwise.errors import EmbedderMismatchError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning import TuneOptions
from spanwise.evaluation.tuning import tune as tune_settings
from spanwise.evaluation.tuning.tuner import write_tuning
from spanwise.models.ports import ModelRequest
from spanwise.options import ParseOptions
from spanwise.search.tuned_options import read_tuning
from spanwise.testing.models import ScriptedModel
from spanwise.types import Durability

State = tuple[int, int]
"""Version of the text of a document, and the number in its metadata."""
States = Mapping[str, State | None]
Acknowledge = Callable[[str], None]

FAST = "SPANWISE_CRASH_FAST"
"""Environment variable that leaves the flush of commits out, to prove that the checks notice."""
NAMES = tuple(f"{word}.md" for word in ("ash", "birch", "cedar", "elm", "fir", "hazel"))
_LINES = 14
_TURNS = 3
_TOPICS = ("lease", "margin", "freight", "pension")
_OLD_CHUNKS = ChunkOptions(target=300, max=420, paragraph_min=100, block_max=500)
_NEW_CHUNKS = ChunkOptions(target=160, max=220, paragraph_min=60, block_max=300)
_NEW_EMBEDDER = HashEmbedder(name="tests:other", dimension=16)


def text_of(name: str, version: int) -> str:
    """Return a version of a document; each line names both."""
    word = name.partition(".")[0]
    lines = [
        f"The {_TOPICS[line % len(_TOPICS)]} of {word} in version{version} was "
        f"{version * 100 + line} million in year {line}.\n" + ("\n" if line % 5 == 4 else "")
        for line in range(_LINES)
    ]
    parts = [f"# Report of {word}\n\n", *lines[:7], "\n## Details\n\n", *lines[7:]]
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Place:
    """A knowledge base, and a folder for the sources and targets of an operation."""

    folder: Path
    base: str
    """Folder or address of the knowledge base."""

    @property
    def sources(self) -> Path:
        """Folder of the files to add."""
        return self.folder / "in"

    @property
    def backup(self) -> Path:
        """Target of backups."""
        return self.folder / "backup.kb"

    @property
    def copy(self) -> str:
        """Target of copies."""
        if self.base.startswith("postgresql:"):
            return f"{self.base.partition('?')[0]}?schema=copied"
        return str(self.folder / "copy.kb")

    @property
    def tuning(self) -> Path:
        """Tuning file."""
        return self.folder / "tuned.toml"

    @property
    def index(self) -> Path | None:
        """Folder of the index; None if it is in a database."""
        return None if self.base.startswith("postgresql:") else Path(self.base) / "index"


def opened(base: str, *, create: bool = False, workers: int = 1) -> KnowledgeBase:
    """Open a knowledge base before or after the rebuild."""
    parse = ParseOptions(workers=workers)
    chunks = _OLD_CHUNKS if create else None
    try:
        return KnowledgeBase(
            base,
            create=create,
            embedder=HashEmbedder(),
            chunks=chunks,
            parse=parse,
            packs=() if create else None,
            durability=_durability(),
        )
    except EmbedderMismatchError:
        return KnowledgeBase(base, create=create, embedder=_NEW_EMBEDDER, parse=parse)


def _durability() -> Durability:
    """Return the durability in the environment of a child process."""
    return "fast" if os.environ.get(FAST) else "full"


def _write(place: Place, versions: Mapping[str, int | None]) -> None:
    place.sources.mkdir(exist_ok=True)
    for name, version in versions.items():
        path = place.sources / name
        if version is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text_of(name, version), encoding="utf-8")


def _fill(place: Place, states: States) -> None:
    """Make a knowledge base with these documents."""
    _write(place, {name: None if state is None else state[0] for name, state in states.items()})
    with opened(place.base, create=True) as base:
        if any(states.values()):
            base.add(place.sources)
        base.compact()


def _same(version: int = 1, number: int = 0) -> dict[str, State | None]:
    return dict.fromkeys(NAMES, (version, number))


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; the defaults are those of one that changes no document."""

    name: str
    run: Callable[[Place, Acknowledge], None]
    before: States = field(default_factory=_same)
    after: States = field(default_factory=_same)
    prepare: Callable[[Place], None] = lambda place: None
    """Function that completes the state of `before`."""
    check: Callable[[Place, int], None] = lambda place, acknowledged: None
    """Further check after a kill, with the number of acknowledgements so far."""
    outcome: Callable[[Place], object] = lambda place: None
    """Further part of the final state."""
    is_damaged: bool = False
    """Whether the index is damaged at first."""
    creates: bool = False
    """Whether the operation makes the knowledge base."""
    embedded_only: bool = False

    def make(self, place: Place) -> None:
        """Make the state before the operation."""
        place.folder.mkdir(parents=True, exist_ok=True)
        if not self.creates:
            _fill(place, self.before)
        self.prepare(place)


def _add(place: Place, acknowledge: Acknowledge, *, workers: int = 1, create: bool = False) -> None:
    with opened(place.base, workers=workers, create=create) as base:
        report = base.add(place.sources, on_document=lambda seen: acknowledge(seen.document_id))
        assert not report.failed, report.failed


def _add_by_workers(place: Place, acknowledge: Acknowledge) -> None:
    _add(place, acknowledge, workers=2)


def _create(place: Place, acknowledge: Acknowledge) -> None:
    _add(place, acknowledge, create=True)


def _remove(place: Place, acknowledge: Acknowledge) -> None:
    with opened(place.base) as base:
        for name in NAMES[::2]:
            base.remove(name)
            acknowledge(name)


def _sync(place: Place, acknowledge: Acknowledge) -> None:
    with opened(place.base) as base:
        base.sync(place.sources, on_document=lambda seen: acknowledge(seen.document_id))


def _set(place: Place, acknowledge: Acknowledge) -> None:
    with opened(place.base) as base:
        for name in NAMES:
            base.update_metadata([name], {"number": 7})
            acknowledge(name)


def _rebuild(place: Place, acknowledge: Acknowledge) -> None:
    _ = acknowledge
    with opened(place.base) as base:
        base.rebuild(chunks=_NEW_CHUNKS, embedder=_NEW_EMBEDDER)


def _compact(place: Place, acknowledge: Acknowledge) -> None:
    _ = acknowledge
    with opened(place.base) as base:
        base.compact()


def _back_up(place: Place, acknowledge: Acknowledge) -> None:
    _ = acknowledge
    if place.backup.exists():
        return
    with opened(place.base) as base:
        base.backup(place.backup)


def _check_backup(place: Place, acknowledged: int) -> None:
    _ = acknowledged
    if place.backup.exists():
        with opened(str(place.backup)) as base:
            assert base.check().sound
            assert [record.id for record in base.list()] == sorted(NAMES)


def _copy(place: Place, acknowledge: Acknowledge) -> None:
    _ = acknowledge
    with opened(place.base) as base:
        base.copy_to(place.copy, verify="all")


def _repair(place: Place, acknowledge: Acknowledge) -> None:
    _ = acknowledge
    with opened(place.base) as base:
        base.check(repair=True)


def _answer(request: ModelRequest) -> str:
    _ = request
    statement = {
        "text": "It was 100 million.",
        "quotes": [{"quote": "was 100 million in year 0", "source": 1}],
    }
    return json.dumps({"answered": True, "statements": [statement], "conflicts": [], "missing": ""})


def _chat(place: Place, acknowledge: Acknowledge) -> None:
    """Complete two conversations of several turns."""
    with opened(place.base) as base:
        present = {info.id: info.turns for info in base.threads.list()}
        for turn in range(_TURNS):
            for thread in ("a", "b"):
                if turn < present.get(thread, 0):
                    continue
                question = f"What was the lease of {NAMES[turn].partition('.')[0]} in year 0?"
                answer = base.ask(
                    question, llm=ScriptedModel(_answer), write_queries=False, thread=thread
                )
                if not any("is not stored in" in warning for warning in answer.warnings):
                    acknowledge(f"{thread} {turn}")


def _turns(place: Place) -> list[list[str]]:
    with opened(place.base) as base:
        threads = {info.id: base.threads.get(info.id).turns for info in base.threads.list()}
    return sorted(
        [name, *(f"{turn.question} {turn.answer.text}" for turn in turns)]
        for name, turns in threads.items()
    )


def _check_turns(place: Place, acknowledged: int) -> None:
    found = _turns(place)
    turns = sum(len(thread) - 1 for thread in found)
    assert acknowledged <= turns <= acknowledged + 1, f"{turns} turns, {acknowledged} acknowledged"
    assert all("[1]" in turn for thread in found for turn in thread[1:]), "a turn is not whole"


def _questions() -> list[LabelledQuestion]:
    """Return two questions about each document, with a line of it as evidence."""
    questions = []
    for name in NAMES:
        word, text = name.partition(".")[0], text_of(name, 1)
        for topic in _TOPICS[:2]:
            start = text.index(f"The {topic} of {word}")
            evidence = Evidence(document_id=name, start=start, end=text.index("\n", start))
            question = f"What was the {topic} of {word}?"
            questions.append(LabelledQuestion(id=question, text=question, evidence=(evidence,)))
    return questions


def _tune(place: Place, acknowledge: Acknowledge) -> None:
    _ = acknowledge
    with opened(place.base) as base:
        options = TuneOptions(budgets=(100,), folds=2, known_answers=False)
        report = tune_settings(base, _questions(), options=options)
    changed = replace(report.tuning.measured, questions=report.tuning.measured.questions + 1)
    for measured in (report.tuning.measured, changed, report.tuning.measured):
        write_tuning(replace(report.tuning, measured=measured), place.tuning)


def _first_tuning(place: Place) -> None:
    _tune(place, lambda _: None)


def _check_tuning(place: Place, acknowledged: int) -> None:
    _ = acknowledged
    read_tuning(place.tuning)


def _changed_files(place: Place) -> None:
    _write(place, dict.fromkeys(NAMES, 2))


def _synced() -> dict[str, State | None]:
    """Return a third of the documents in a new version, a third unchanged, and others removed."""
    states: dict[str, State | None] = dict.fromkeys(NAMES)
    states |= dict.fromkeys(NAMES[::3], (2, 0))
    states |= dict.fromkeys(NAMES[1::3], (1, 0))
    return states


def _synced_files(place: Place) -> None:
    _write(place, {name: state and state[0] for name, state in _synced().items()})


def _fragmented(place: Place) -> None:
    """Replace documents so that the index and the database have something to compact."""
    with opened(place.base) as base:
        for version in (2, 1):
            _write(place, dict.fromkeys(NAMES, version))
            base.add(place.sources)


_DAMAGE_PART_ROWS = """
update spanwise.part_row
set data = set_byte(data, length(data) / 2, get_byte(data, length(data) / 2) # 255)
where length(data) > 0
"""


def _damage_index(place: Place) -> None:
    """Change bytes in the index."""
    if place.index is None:
        import psycopg

        with psycopg.connect(place.base.partition("?")[0]) as connection:
            connection.execute(_DAMAGE_PART_ROWS)
        return
    for part in place.index.glob("*.part"):
        data = bytearray(part.read_bytes())
        data[len(data) // 2 :: 512] = bytes(len(data[len(data) // 2 :: 512]))
        part.write_bytes(data)


def _all_files(place: Place) -> None:
    _write(place, dict.fromkeys(NAMES, 1))


def _copied(place: Place) -> object:
    return state_of(place.copy)


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("add", _add, dict.fromkeys(NAMES), prepare=_all_files),
        Operation("create", _create, dict.fromkeys(NAMES), prepare=_all_files, creates=True),
        Operation("workers", _add_by_workers, dict.fromkeys(NAMES), prepare=_all_files),
        Operation("replace", _add, after=_same(version=2), prepare=_changed_files),
        Operation("delete", _remove, after={**_same(), **dict.fromkeys(NAMES[::2])}),
        Operation(
            "sync",
            _sync,
            {**_same(), NAMES[0]: None, NAMES[1]: None},
            _synced(),
            prepare=_synced_files,
        ),
        Operation("set", _set, after=_same(number=7)),
        Operation("rebuild", _rebuild, prepare=_fragmented),
        Operation("compact", _compact, prepare=_fragmented),
        Operation(
            "backup",
            _back_up,
            check=_check_backup,
            outcome=lambda place: state_of(str(place.backup)),
            embedded_only=True,
        ),
        Operation("copy", _copy, outcome=_copied),
        Operation("index", _repair, prepare=_damage_index, is_damaged=True),
        Operation("chat", _chat, check=_check_turns, outcome=_turns),
        Operation(
            "tune",
            _tune,
            prepare=_first_tuning,
            check=_check_tuning,
            outcome=lambda place: place.tuning.read_text(encoding="utf-8"),
        ),
    )
}
"""Operations by name."""


def check_after_fault(operation: Operation, place: Place, acknowledged: list[str]) -> None:
    """Check what a process left that was killed, or that ended with an error.

    Args:
        operation: Operation of the process.
        place: Its place; a copy of it if the checks must not change it.
        acknowledged: Acknowledgements since the state before the operation, in order.

    Raises:
        AssertionError: If a check fails.
    """
    with opened(place.base, create=operation.creates and not acknowledged) as base:
        report = base.check()
        assert report.sound or operation.is_damaged, report.findings
        _check_documents(operation, base, set(acknowledged))
    operation.check(place, len(acknowledged))


def _check_documents(operation: Operation, base: KnowledgeBase, acknowledged: set[str]) -> None:
    present = {record.id: record for record in base.list()}
    assert present.keys() <= operation.before.keys(), "a document came from nowhere"
    for name in operation.before:
        allowed = {operation.after[name]}
        if name not in acknowledged:
            allowed.add(operation.before[name])
        record = present.get(name)
        if record is None:
            assert None in allowed, f"{name} is lost"
            continue
        number = record.metadata.get("number", 0)
        text = base.get(name).text
        versions = [state for state in allowed if state and text == text_of(name, state[0])]
        assert versions, f"{name} is half there, or in an older version than acknowledged"
        assert number in {state[1] for state in versions}, f"{name} has other metadata: {number}"
        assert "".join(chunk.text for chunk in base.chunks(name)) == text, f"chunks of {name}"
        _check_found(base, name, versions[0][0])


def _check_found(base: KnowledgeBase, name: str, version: int) -> None:
    question = f"What was the lease of {name.partition('.')[0]} in version{version}?"
    segments = [s for s in base.search(question, deep=False).segments if s.document_id == name]
    assert segments, f"{name} is not found"
    other = f"version{3 - version} "
    assert not any(other in segment.text for segment in segments), f"{name} is found in pieces"


def state_of(base_path: str) -> object:
    """Return everything that a knowledge base has, without numbers and times.

    Relevances are those of an exact search. An approximate search estimates the statistics of the
    vectors from a sample, which depends on the numbers of the documents, and a killed writer uses
    up numbers. Its segments are compared without relevances.
    """
    with opened(base_path) as base:
        records = base.list()
        documents = [
            (record.id, record.title, dict(record.metadata), base.get(record.id).text)
            for record in records
        ]
        parts = [(base.chunks(record.id), base.sections(record.id)) for record in records]
        found = _found(base)
        assert base.check().sound
    exact_path = base_path.partition("?")[0]
    if exact_path == base_path:
        return documents, parts, found
    places = [[place[:-1] for place in segments] for segments in found]
    with opened(exact_path) as base:
        return documents, parts, places, _found(base)


def _found(base: KnowledgeBase) -> list[list[tuple[str, int, int, float]]]:
    """Return the place and the relevance of each segment of some searches."""
    return [
        [
            (segment.document_id, segment.start, segment.end, round(segment.relevance, 6))
            for segment in base.search(f"What was the {topic} of {word}?", deep=False).segments
        ]
        for topic in _TOPICS[:2]
        for word in ("ash", "elm")
    ]


def final_state(operation: Operation, place: Place) -> object:
    """Return the state after an operation that has ended, for a comparison with another run."""
    return state_of(place.base), operation.outcome(place)
