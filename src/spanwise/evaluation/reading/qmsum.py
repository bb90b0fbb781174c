"""QMSum: github.com/Yale-LILY/QMSum.

Layout (its README):
    data/ALL/{train,val,test}/*.json, a meeting each: `meeting_transcripts` with `speaker` and
    `content`, `specific_query_list` with `query`, `answer` and `relevant_text_span` (first and last
    turn, from 0, as texts), `general_query_list` with `query` and `answer`. The same meetings stand
    one a line, without their names, in data/ALL/jsonl.

The text of a meeting has one turn a line, "speaker: content".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spanwise.evaluation.dataset import Dataset, DatasetDocument, Evidence, LabelledQuestion
from spanwise.evaluation.reading.checkout import Checkout
from spanwise.evaluation.reading.faults import FaultError, Faults, shown
from spanwise.evaluation.reading.files import json_lines, json_value
from spanwise.evaluation.reading.rows import Row, row_of

__all__ = ["read_qmsum"]

_SPLITS = ("train", "val", "test")


def read_qmsum(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions, each about its own meeting: none says which meeting it means."""
    questions: list[LabelledQuestion] = []
    documents: list[DatasetDocument] = []
    for meeting_id, row in _meetings(checkout, faults):
        with faults.gathered():
            general, specific = row.rows("general_query_list"), row.rows("specific_query_list")
            with faults.gathered(questions=len(general) + len(specific)):
                document, lines = _transcript(row, meeting_id)
                documents.append(document)
                questions += _questions(general, f"{meeting_id}-general", meeting_id, (), faults)
                questions += _questions(
                    specific, f"{meeting_id}-specific", meeting_id, lines, faults
                )
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _meetings(checkout: Checkout, faults: Faults) -> Iterator[tuple[str, Row]]:
    """Yield the meetings with their names: of all splits, or of what the user named."""
    if checkout.folder.suffix == ".jsonl" and checkout.folder.is_file():
        for number, row in enumerate(json_lines(checkout.folder, faults)):
            yield f"{checkout.folder.stem}-{number:03d}", row
        return
    for path in _files(checkout):
        with faults.gathered():
            yield path.stem, row_of(json_value(path), path.name)


def _files(checkout: Checkout) -> list[Path]:
    own = sorted(checkout.folder.glob("*.json"))
    if own:
        return own
    folder = checkout.find("data/ALL")
    return [path for split in _SPLITS for path in sorted((folder / split).glob("*.json"))]


def _transcript(row: Row, meeting_id: str) -> tuple[DatasetDocument, list[tuple[int, int]]]:
    """Return a meeting as a text, and the place of each turn in it."""
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    for turn in row.rows("meeting_transcripts"):
        said = f"{turn.text('speaker', default='')}: {turn.text('content', default='')}"
        line = " ".join(said.splitlines())
        lines.append(line)
        places.append((start, start + len(line)))
        start += len(line) + 1
    if not lines:
        raise row.fault("'meeting_transcripts' is missing or empty; there is no text")
    return DatasetDocument(id=meeting_id, text="\n".join(lines)), places


def _questions(
    rows: Sequence[Row],
    named: str,
    meeting_id: str,
    lines: Sequence[tuple[int, int]],
    faults: Faults,
) -> Iterator[LabelledQuestion]:
    """Yield questions; without lines those about the meeting as a whole, which have no evidence."""
    for number, row in enumerate(rows):
        with faults.gathered(questions=1):
            yield _question(row, f"{named}-{number}", meeting_id, lines)


def _question(
    row: Row, question_id: str, meeting_id: str, lines: Sequence[tuple[int, int]]
) -> LabelledQuestion:
    return LabelledQuestion(
        id=question_id,
        text=row.text("query"),
        evidence=tuple(
            _evidence(span, meeting_id, lines, row.place)
            for span in (row.items("relevant_text_span") if lines else ())
        ),
        answer=row.text("answer", default=""),
        scope=(meeting_id,),
        metadata={"kind": "specific" if lines else "general"},
    )


def _evidence(
    span: object, meeting_id: str, lines: Sequence[tuple[int, int]], place: str
) -> Evidence:
    """Return the characters of turns; the first and the last are both meant."""
    try:
        # The digits of a text are no turns.
        first, last = sorted(map(int, span if isinstance(span, list) else ()))
    except (TypeError, ValueError) as error:
        raise FaultError(
            f"{place}: a span is {shown(span)}; give the first and the last turn"
        ) from error
    if not 0 <= first <= last < len(lines):
        raise FaultError(
            f"{place}: a span is {shown(span)}, and the meeting has {len(lines)} turns"
        )
    return Evidence(document_id=meeting_id, start=lines[first][0], end=lines[last][1])
