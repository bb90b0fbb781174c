"""Excerpts read one by one, several at once: what each of them says to a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.core.extraction.render import render_segments
from spanwise.errors import ModelError
from spanwise.models.prompts.conclusions import (
    Conclusion,
    SourcedConclusion,
    conclusions_request,
    read_conclusions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.answers.sources import Source
    from spanwise.models.caller import ModelCaller
    from spanwise.models.prompts.answers import Question


def read_excerpts(
    question: Question, sources: Sequence[Source], *, caller: ModelCaller
) -> tuple[list[SourcedConclusion], tuple[str, ...]]:
    """Return what excerpts say to a question, in their order, and what could not be read.

    Raises:
        ModelError: If no excerpt could be read; what went wrong with the first.
        CostLimitError: If one may cost more than is left.
    """
    requests = [
        conclusions_request(
            question,
            context=render_segments([one.text], citations=[one.citation], headers=[one.header]),
            first=one.runs[0].text,
        )
        for one in sources
    ]

    def read(_: int, answer: str) -> tuple[Conclusion, ...]:
        return read_conclusions(answer)

    answers = caller.call_all(requests, read=read)
    errors = [answer for answer in answers if isinstance(answer, ModelError)]
    if len(errors) == len(answers):
        raise errors[0]
    conclusions = [
        SourcedConclusion(
            conclusion=conclusion,
            source=number,
            document=source.citation.title or source.citation.document_id,
        )
        for number, (source, answer) in enumerate(zip(sources, answers, strict=True))
        if not isinstance(answer, ModelError)
        for conclusion in answer
    ]
    warnings = tuple(
        f"the excerpt of {source.citation} was not read: {answer}"
        for source, answer in zip(sources, answers, strict=True)
        if isinstance(answer, ModelError)
    )
    return conclusions, warnings
