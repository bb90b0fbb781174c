"""What one excerpt says to a question: conclusions with quotes, or that it says nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from spanwise.ports import ModelRequest
from spanwise.tasks.asking import FENCED_DATA, QUOTING, Question

__all__ = ["Conclusion", "conclusions_request", "read_conclusions"]

_INSTRUCTIONS = """\
You read one excerpt of a document and say what it contributes to the answer to a question. Other \
readers read other excerpts, and someone else will combine what you all write into one answer: so \
write down everything in your excerpt that bears on the question, also what answers a part of it.
Use only what stands in the excerpt: nothing that you know from elsewhere, and no guess. Each \
conclusion is a sentence or two that can be understood without the excerpt: it names the company, \
person or thing, the year, unit and currency where they matter.
For each conclusion give the quotes that prove it.
If the excerpt says nothing about the question, say so by "relevant": false and give no \
conclusions; that is a good answer.
Write in the language of the question; quotes stay in theirs."""

_FORM = """\
Answer in JSON: {"relevant": true, "conclusions": [{"text": "...", "quotes": ["..."]}]}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What an excerpt says to a question."""

    text: str
    quotes: tuple[str, ...]


class _Conclusion(BaseModel):
    text: str
    quotes: list[str]


class _Form(BaseModel):
    relevant: bool
    conclusions: list[_Conclusion]


def conclusions_request(question: Question, *, context: str, first: str) -> ModelRequest:
    """Return how a model is asked what an excerpt says.

    Args:
        question: The question.
        context: The excerpt in its fence.
        first: Text of the excerpt, for the answer that is expected.
    """
    typical = _Form(
        relevant=True, conclusions=[_Conclusion(text=first[:200], quotes=[first[:200]])]
    )
    return ModelRequest(
        task="conclusions",
        instructions=question.instructions(_INSTRUCTIONS, QUOTING, FENCED_DATA, _FORM),
        prompt=f"{context}\n\n{question.prompt()}",
        answer=_Form,
        max_output_tokens=question.options.max_output_tokens,
        typical=typical.model_dump_json(),
    )


def read_conclusions(answer: str) -> tuple[Conclusion, ...]:
    """Return the conclusions of an answer, none where the excerpt says nothing.

    Raises:
        ValueError: If it is not usable.
    """
    form = _Form.model_validate_json(answer)
    conclusions = tuple(
        Conclusion(
            text=one.text.strip(),
            quotes=tuple(quote.strip() for quote in one.quotes if quote.strip()),
        )
        for one in form.conclusions
        if one.text.strip()
    )
    if form.relevant and not conclusions:
        raise ValueError('"relevant" is true, and there is no conclusion; give one, or say false')
    return conclusions if form.relevant else ()
