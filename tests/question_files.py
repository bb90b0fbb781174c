"""Labelled questions as the file that people write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from spanwise.evaluation.dataset import LabelledQuestion

__all__ = ["write_questions"]


def write_questions(path: Path, questions: Iterable[LabelledQuestion]) -> None:
    """Write questions with evidence in characters, a line each."""
    rows = (
        {
            "id": one.id,
            "question": one.text,
            "evidence": [
                {"document_id": place.document_id, "start": place.start, "end": place.end}
                for place in one.evidence
            ],
        }
        for one in questions
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
