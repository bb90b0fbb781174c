"""An answer in a form that the caller gives, with quotes for its fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, RootModel, create_model

from spanwise.core.drafts import Draft, Statement
from spanwise.errors import OptionError
from spanwise.plain import Plain
from spanwise.ports import ModelRequest
from spanwise.tasks.answers import QuoteForm, given_quotes
from spanwise.tasks.asking import FENCED_DATA, QUOTING, AnswerTask, Question

__all__ = ["checked_answer_type", "structured_answer_task"]

_INSTRUCTIONS = """\
You fill in a form from segments of documents, for readers who check every value. The segments are \
numbered. The form is "data" in the answer that is asked for; the question says what is wanted.
Use only what stands in the segments: nothing that you know from elsewhere, and no guess. Look at \
whose figures they are and of which year, unit and currency.
For each field that you fill in give the quotes that prove its value, in "citations": the name of \
the field, the number of the segment, and the words.
If the segments do not hold what the form needs, say so by "answered": false and "data": null."""

_NOT_ANSWERED = '{"answered": false, "data": null, "citations": []}'
_FIELD_END = re.compile(r"[.\[]")


class _FieldQuote(QuoteForm):
    field: str


def checked_answer_type(answer_type: object) -> type[BaseModel]:
    """Return the form that a caller gives.

    Raises:
        OptionError: If it is no pydantic model, or one without fields.
    """
    if not isinstance(answer_type, type) or not issubclass(answer_type, BaseModel):
        raise OptionError(f"answer_type is {answer_type!r}; give a class of pydantic.BaseModel")
    if issubclass(answer_type, RootModel) or not answer_type.model_fields:
        raise OptionError(
            f"answer_type is {answer_type.__name__}, which has no fields to fill in and to cite; "
            "give a class of pydantic.BaseModel with fields"
        )
    return answer_type


def structured_answer_task(
    question: Question, *, context: str, answer_type: type[BaseModel]
) -> AnswerTask:
    """Return how a model is asked to fill in a form.

    Args:
        question: The question.
        context: The segments, numbered from 1, each in a fence.
        answer_type: The form.
    """
    # Made of a type that is known at run time alone, so that nothing checks what it holds.
    nullable: Any = answer_type | None
    form: type[Any] = create_model(
        "StructuredAnswer",
        answered=(bool, ...),
        data=(nullable, ...),
        citations=(list[_FieldQuote], ...),
    )
    request = ModelRequest(
        task="answer",
        instructions=question.instructions(_INSTRUCTIONS, QUOTING, FENCED_DATA),
        shared=context,
        prompt=question.prompt(),
        answer=form,
        max_output_tokens=question.options.max_output_tokens,
        typical=_NOT_ANSWERED,
    )

    def read(answer: str) -> Draft:
        given = form.model_validate_json(answer)
        if not given.answered:
            return Draft(answered=False)
        if given.data is None:
            raise ValueError('"answered" is true, and "data" is null; fill it in, or say false')
        # By the names that the model was told, and by which the caller's form reads it again.
        data = cast("dict[str, Plain]", given.data.model_dump(mode="json", by_alias=True))
        statements = _statements(data, given.citations)
        if not statements:  # a form that is empty answers nothing
            return Draft(answered=False)
        return Draft(answered=True, statements=statements, data=data)

    return AnswerTask(request=request, read=read)


def _statements(
    data: Mapping[str, Plain], citations: Sequence[_FieldQuote]
) -> tuple[Statement, ...]:
    """Return a line for each field that has a value, with its quotes."""
    return tuple(
        Statement(
            text=f"- {name}: {value if isinstance(value, str) else _as_json(value)}",
            quotes=given_quotes([one for one in citations if _top_field(one.field) == name]),
        )
        for name, value in data.items()
        if value is not None
    )


def _as_json(value: Plain) -> str:
    return json.dumps(value, ensure_ascii=False)


def _top_field(path: str) -> str:
    """Return the field of the form that a path such as "items[0].name" is inside of."""
    return _FIELD_END.split(path.strip().removeprefix("data."), maxsplit=1)[0]
