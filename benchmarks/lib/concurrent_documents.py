"""Documents that processes and threads change at once, and the history of what they see.

Each sentence of a document names its version, and so do its title and its metadata, so that a
result with parts of two versions is visible. All times are of `time.monotonic`, which is one clock
for all processes of a machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

from benchmarks.lib.linearizability import first_violation
from spanwise import KnowledgeBase
from spanwise.errors import DocumentNotFoundError
from spanwise.types import Segment

DOCUMENTS = tuple(f"contested-{number}" for number in range(5))
"""Ids of the documents that all threads change."""
NOTE = "note"
"""Metadata field that only `set` changes."""
VERSION = "version"
"""Metadata field that is stored with each version of the text."""

Kind = Literal["put", "delete", "set", "read", "search", "backup"]
_MAX_SENTENCES = 60
_WORDS = (
    "margin lease goodwill covenant dividend revenue impairment auditor segment outlook".split()
)
_NAMED = re.compile(r"version (\w+) of (contested-\d+)")


class State(NamedTuple):
    """Version and note of a document; both are empty if it does not exist."""

    version: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One finished operation on one document."""

    kind: Kind
    document: str
    began: float
    ended: float
    value: str = ""
    """Version that was put, or note that was set."""
    existed: bool = True
    """Whether the document existed, as the operation reported."""
    version: str = ""
    """Version that was read."""
    note: str = ""
    """Note that was read, or that `set` replaced."""

    def as_row(self) -> dict[str, object]:
        """Return the operation as a mapping for JSON."""
        return asdict(self)


def step(state: State, operation: Operation) -> State | None:
    """Return the state of a document after an operation; None if its result is impossible.

    A document that is put keeps its note, unless it was deleted before.
    """
    if bool(state.version) != operation.existed:
        return None
    if operation.kind == "put":
        return State(operation.value, state.note)
    if operation.kind == "delete" or not operation.existed:
        return State()
    if operation.kind == "set":
        return State(state.version, operation.value) if state.note == operation.note else None
    return state if state == (operation.version, operation.note) else None


def is_read(operation: Operation) -> bool:
    """Return whether an operation never changes a document."""
    return operation.kind in ("read", "search", "backup") or (
        operation.kind in ("delete", "set") and not operation.existed
    )


def check_history(operations: Iterable[Operation]) -> int:
    """Check that the history of each document is linearizable, and return the operations.

    Raises:
        AssertionError: If it is not; the message has the operations around the violation.
    """
    histories: dict[str, list[Operation]] = {}
    for operation in operations:
        histories.setdefault(operation.document, []).append(operation)
    for history in histories.values():
        found = first_violation(history, initial=State(), step=step, is_read=is_read)
        if found is not None:
            around = [
                one
                for one in sorted(history, key=lambda one: one.began)
                if one.ended >= found.began - 1 and one.began <= found.ended
            ]
            shown = "\n".join(map(str, around))
            raise AssertionError(f"no order explains {found}, among\n{shown}")
    return sum(map(len, histories.values()))


def text_of(document: str, version: str) -> str:
    """Return the text of a version of a document: 1 to 60 sentences, each with the version."""
    chooser = random.Random(f"{document} {version}")
    count = chooser.choice((1, 3, 10, _MAX_SENTENCES, chooser.randint(1, _MAX_SENTENCES)))
    sentences = [
        f"Sentence {number} in version {version} of {document} reports the steady "
        f"{' '.join(chooser.choices(_WORDS, k=4))} of {chooser.randrange(10_000)} dollars."
        for number in range(count)
    ]
    lines = [" ".join(sentences[first : first + 4]) for first in range(0, count, 4)]
    return "\n\n".join(lines)


def title_of(version: str) -> str:
    """Return the title of a version."""
    return f"Record {version}"


def put(base: KnowledgeBase, document: str, version: str) -> bool:
    """Add or replace a document, and return whether it existed."""
    report = base.add_text(
        text_of(document, version),
        document_id=document,
        title=title_of(version),
        metadata={VERSION: version},
    )
    if (report.added, report.replaced) not in (((document,), ()), ((), (document,))):
        raise AssertionError(f"the report of a new version is {report}")
    return bool(report.replaced)


def set_note(base: KnowledgeBase, document: str, note: str) -> str | None:
    """Set the note of a document, and return the note before; None if it does not exist."""
    try:
        report = base.update_metadata([document], {NOTE: note})
    except DocumentNotFoundError:
        return None
    if not report.changes:  # deleted after its id was looked up
        return None
    (change,) = report.changes
    return str(change.before[NOTE] or "")


def read(base: KnowledgeBase, document: str) -> State:
    """Return the state of a document that is read whole.

    Raises:
        AssertionError: If it has parts of two versions.
    """
    try:
        found = base.get(document)
    except DocumentNotFoundError:
        return State()
    state = _state_of(found.metadata)
    if found.text != text_of(document, state.version):
        raise AssertionError(f"the text of {document} is not that of {state}:\n{found.text}")
    return state


def search(base: KnowledgeBase, question: str, documents: list[str] | None) -> dict[str, State]:
    """Return the state of each contested document in the result of a search.

    Args:
        base: Knowledge base.
        question: Question.
        documents: Documents to search; None for all.

    Raises:
        AssertionError: If the result has parts of two versions of a document.
        DocumentNotFoundError: If a document to search does not exist.
    """
    result = base.search(
        question, documents=documents, budget_tokens=4_000, preset="comprehensive", deep=False
    )
    found: dict[str, State] = {}
    for segment in result.segments:
        if segment.document_id not in DOCUMENTS:
            continue
        state = _segment_state(segment)
        if found.setdefault(segment.document_id, state) != state:
            raise AssertionError(f"segments of two versions of a document: {result.segments}")
    missing = set(documents or ()) - found.keys()
    if missing:
        raise AssertionError(f"a search in {documents} finds nothing in {sorted(missing)}")
    return found


def _segment_state(segment: Segment) -> State:
    """Return the state of the document of a segment, and check that all its parts agree."""
    state = _state_of(segment.metadata)
    text = text_of(segment.document_id, state.version)
    named = set(_NAMED.findall(segment.text)) - {(state.version, segment.document_id)}
    if (
        named
        or segment.text not in text
        or segment.text.strip() != text[segment.start : segment.end].strip()
        or title_of(state.version) not in segment.header
    ):
        raise AssertionError(f"a segment does not belong to {state}: {segment}")
    return state


def _state_of(metadata: Mapping[str, object]) -> State:
    return State(str(metadata[VERSION]), str(metadata.get(NOTE) or ""))
