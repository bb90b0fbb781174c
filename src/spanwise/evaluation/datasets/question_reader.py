"""Reader of questions in JSON lines, in the user format or the benchmark format.

Rules:
    The field names of a line determine its format: `question` and `document_id` in the user format,
    `query` and `doc_id` in the benchmark format. A line with names of both formats is a fault.
    Character ranges are half-open and count from 0. Pages count from 1 in the user format and from
    0 in the benchmark format.
    All faults of a file are reported together.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spanwise.core.ranking.question import check_question
from spanwise.core.text.terms import word_terms, words
from spanwise.errors import QueryError
from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.datasets.evidence_checks import EvidenceChecker
from spanwise.evaluation.datasets.json_lines import Faults, Row, json_lines, shown
from spanwise.types import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """Field names of one format of questions."""

    called: str
    id: str
    question: str
    document: str
    scope: str
    metadata: str
    first_page: int
    others: frozenset[str] = frozenset()
    """Additional fields of a line."""
    more_of_evidence: frozenset[str] = frozenset()
    """Additional fields of a piece of evidence, which are ignored."""
    is_open: bool = False
    """Whether unknown fields are ignored, unless they are similar to a known field."""

    @property
    def names(self) -> frozenset[str]:
        """Return the known field names of a line."""
        own = {self.id, self.question, self.scope, self.metadata}
        return self.others | own | {"answer", "evidence"}

    @property
    def evidence_names(self) -> frozenset[str]:
        """Return the known field names of a piece of evidence."""
        return self.more_of_evidence | {self.document, "start", "end", "page", "text"}


_USERS = _Form(
    called="the user format",
    id="id",
    question="question",
    document="document_id",
    scope="documents",
    metadata="metadata",
    first_page=1,
    others=frozenset({"rubric"}),
)
_BENCHMARKS = _Form(
    called="the benchmark format",
    id="query_id",
    question="query",
    document="doc_id",
    scope="scope",
    metadata="meta",
    first_page=0,
    more_of_evidence=frozenset({"answer_start", "answer_end"}),
    is_open=True,
)
_BOTH = _USERS.names & _BENCHMARKS.names


def read_questions(
    path: str | Path, *, texts: Mapping[str, DocumentText | None] | None = None
) -> tuple[LabelledQuestion, ...]:
    """Return the questions in a file of JSON lines, in order.

    Args:
        path: File to read.
        texts: Document texts by id, to check the evidence as `check_questions` does; None to leave
            it unchecked.

    Raises:
        OptionError: If the file cannot be read, has no question, or has faults. The message lists
            file, line and value of the first 20 faults.
    """
    path = Path(path)
    faults = Faults()
    checker = None if texts is None else EvidenceChecker(texts)
    questions: list[LabelledQuestion] = []
    lines: dict[str, str] = {}
    for row in json_lines(path, faults):
        with faults.gathered():
            question = _question(row, faults, checker)
            earlier = lines.setdefault(question.id, row.place)
            if earlier != row.place:
                raise row.fault(
                    f"the id {shown(question.id)} is also used in {earlier}; ids must be unique"
                )
            questions.append(question)
    if not questions and not faults.count:
        with faults.gathered():
            raise Row({}, path.name).fault(
                'the file has no question; give one object per line, such as {"question": "...", '
                '"evidence": [{"document_id": "...", "text": "..."}]}'
            )
    faults.raise_any(str(path))
    return tuple(questions)


def _question(row: Row, faults: Faults, checker: EvidenceChecker | None) -> LabelledQuestion:
    """Return the question in a line; faults of its evidence are collected separately."""
    form = _form_of(row)
    _check_names(row, form.names, other=_other(form).names, form=form)
    scope = None
    with faults.gathered():
        scope = _scope(row, form)
    evidence = []
    for piece in row.rows("evidence"):
        with faults.gathered():
            read = _evidence(piece, form)
            evidence.append(
                read if checker is None else checker.checked(read, piece.place, scope=scope)
            )
    for document_id in scope or ():
        with faults.gathered():
            if checker is not None:
                checker.check_id(document_id, f"{row.place}: {form.scope}")
    return LabelledQuestion(
        id=row.word(form.id, default=f"line-{row.place.rpartition(':')[2]}"),
        text=_text(row, form),
        evidence=tuple(evidence),
        answer=row.text("answer", default=""),
        rubric=row.text("rubric", default="") if form is _USERS else "",
        scope=scope,
        metadata=dict(_metadata(row, form)),
    )


def _text(row: Row, form: _Form) -> str:
    """Return the text of a question that can be searched.

    Raises:
        FaultError: If it is missing or too long, or has no word.
    """
    text = row.text(form.question)
    try:
        check_question(text)
    except QueryError as error:
        raise row.fault(str(error)) from error
    if not any(map(word_terms, words(text))):
        raise row.fault(f"{form.question!r} is {shown(text)}; ask in at least one word")
    return text


def _form_of(row: Row) -> _Form:
    own = len((row.values.keys() & _USERS.names) - _BOTH)
    other = len((row.values.keys() & _BENCHMARKS.names) - _BOTH)
    return _BENCHMARKS if other > own else _USERS


def _other(form: _Form) -> _Form:
    return _USERS if form is _BENCHMARKS else _BENCHMARKS


def _check_names(row: Row, known: Collection[str], *, other: Collection[str], form: _Form) -> None:
    """Check that all field names are known.

    Raises:
        FaultError: If a name is unknown. The message says if it belongs to the other format, or
            suggests a similar name.
    """
    for name in row.values:
        if name in known:
            continue
        if name in other:
            raise row.fault(
                f"{name!r} is a field of {_other(form).called}, and the line is in {form.called}; "
                "use the fields of one format"
            )
        near = difflib.get_close_matches(name, known, n=1)
        if form.is_open and not near:
            continue
        hint = (
            f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(sorted(known))}"
        )
        raise row.fault(f"{shown(name)} is not a field of {form.called}; {hint}")


def _evidence(row: Row, form: _Form) -> Evidence:
    _check_names(row, form.evidence_names, other=_other(form).evidence_names, form=form)
    start = end = page = None
    if row.has("start") or row.has("end"):
        start, end = row.whole("start"), row.whole("end")
        if start >= end:
            raise row.fault(
                f"start is {start} and end is {end}; end is the index after the last character and "
                "must be greater than start"
            )
    if row.has("page"):
        page = row.whole("page", least=form.first_page) + 1 - form.first_page
    text = row.text("text", default="")
    if row.has("text") and not text.strip():
        raise row.fault(f"'text' is {shown(text)}; quote the document, or leave the field out")
    return Evidence(document_id=row.word(form.document), start=start, end=end, page=page, text=text)


def _scope(row: Row, form: _Form) -> tuple[str, ...] | None:
    if not row.has(form.scope):
        return None
    named = row.items(form.scope)
    if not named or not all(isinstance(one, str) and one for one in named):
        raise row.fault(
            f"{form.scope!r} is {shown(named)}; list ids of documents, or leave it out for all"
        )
    return tuple(dict.fromkeys(row.whole_text(str(one), form.scope) for one in named))


def _metadata(row: Row, form: _Form) -> Iterator[tuple[str, Scalar]]:
    """Yield the metadata fields; in the benchmark format, values of other types are skipped."""
    value = row.values.get(form.metadata)
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise row.fault(f"{form.metadata!r} is {shown(value)}; give an object")
    for name, one in value.items():
        is_scalar = isinstance(one, str | int | float | bool)
        if is_scalar and (not isinstance(one, float) or math.isfinite(one)):
            row.whole_text(f"{name}{one}", form.metadata)
            yield name, one
        elif form is _USERS:
            raise row.fault(
                f"{form.metadata!r} has {shown(one)} as {shown(name)}; give a text, a number or a "
                "boolean"
            )
