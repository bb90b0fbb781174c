"""Questions as lines of JSON, in the format that `evaluation.reading` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion

__all__ = ["check_new_file", "write_questions"]


def check_new_file(path: Path) -> None:
    """Check that a file can be made, before anything is paid for what it is to hold.

    Raises:
        OptionError: If it is there already, or its folder is not.
    """
    if path.exists():
        raise OptionError(
            f"{path} is there already, and may hold changes of yours; name another file"
        )
    if not path.parent.is_dir():
        raise OptionError(f"the folder of {path} is not there; make it, or name another one")


def write_questions(questions: Sequence[LabelledQuestion], path: Path) -> None:
    """Write questions to a new file, a line each: characters from 0, half-open.

    Raises:
        OptionError: If the file is there already or cannot be written.
    """
    lines = [json.dumps(_row(one), ensure_ascii=False) + "\n" for one in questions]
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as error:
        raise OptionError(
            f"{path} cannot be written ({error.strerror}); name another file"
        ) from error


def _row(question: LabelledQuestion) -> Mapping[str, object]:
    row = {
        "id": question.id,
        "question": question.text,
        "answer": question.answer,
        "rubric": question.rubric,
        "evidence": [_evidence_row(one) for one in question.evidence],
        "documents": None if question.scope is None else list(question.scope),
        "metadata": dict(question.metadata),
    }
    always = ("id", "question", "evidence")
    return {name: value for name, value in row.items() if value or name in always}


def _evidence_row(evidence: Evidence) -> Mapping[str, object]:
    row = {
        "document_id": evidence.document_id,
        "start": evidence.start,
        "end": evidence.end,
        "page": evidence.page,
        "text": evidence.text or None,
    }
    return {name: value for name, value in row.items() if value is not None}
