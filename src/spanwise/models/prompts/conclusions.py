"""Prompts for answers in two steps: conclusions from each excerpt, then one combined answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from spanwise.core.answers.drafts import Draft, GivenQuote, Statement
from spanwise.core.text.fences import fence_tag
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.answers import FENCED_DATA, QUOTING, AnswerTask, Question

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
    """Contribution of an excerpt to the answer, with quotes that prove it."""

    text: str
    quotes: tuple[str, ...]


class _Conclusion(BaseModel):
    text: str
    quotes: list[str]


class _Form(BaseModel):
    relevant: bool
    conclusions: list[_Conclusion]


def conclusions_request(question: Question, *, context: str, first: str) -> ModelRequest:
    """Return the request for the conclusions of an excerpt.

    Args:
        question: The question.
        context: Fenced excerpt.
        first: Text of the excerpt, for the typical answer.
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
    """Return the conclusions in an answer; empty if the excerpt is not relevant.

    Raises:
        ValueError: If the answer is not usable.
    """
    form = _Form.model_validate_json(answer)
    conclusions = tuple(
        Conclusion(
            text=item.text.strip(),
            quotes=tuple(quote.strip() for quote in item.quotes if quote.strip()),
        )
        for item in form.conclusions
        if item.text.strip()
    )
    if form.relevant and not conclusions:
        raise ValueError('"relevant" is true, and there is no conclusion; give one, or say false')
    return conclusions if form.relevant else ()


_COMBINING_INSTRUCTIONS = """\
You combine what several readers concluded into one answer to a question, for readers who check \
every claim. Each of them read another excerpt; their conclusions are numbered, and say of which \
document they are.
Use only what the conclusions say: nothing that you know from elsewhere, and no guess. Look at \
whose figures they are and of which year, unit and currency.
Write the answer as statements that read one after the other as one text. Each is one sentence or \
two. Answer the question first, and give reasons and details after that. Where you calculate, say \
how.
For each statement give the numbers of all the conclusions that it is drawn from: their quotes \
will stand beside it. Write no numbers of conclusions into the text of the statement."""

_CONFLICTS = """\
Where conclusions contradict each other in what is asked, add a statement to "conflicts" that \
names the documents and says what each of them says, with the numbers of the conclusions.
If they hold no answer, say so by "answered": false and give no statements. If they answer a part \
of the question, answer that part, and say in "missing" what is not there; otherwise "missing" is \
empty.
Write in the language of the question."""

_COMBINING_FORM = """\
Answer in JSON: {"answered": true, "statements": [{"text": "...", "conclusions": [1, 2]}], \
"conflicts": [], "missing": ""}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedConclusion:
    """Conclusion with the excerpt that it comes from."""

    conclusion: Conclusion
    source: int
    """Position of the excerpt, from 0."""
    document: str
    """Title of the excerpt's document."""


class _Statement(BaseModel):
    text: str
    conclusions: list[int]


class _CombiningForm(BaseModel):
    model_config = ConfigDict(title="_Form")  # the title is part of the cache key
    answered: bool
    statements: list[_Statement]
    conflicts: list[_Statement]
    missing: str


def combining_task(question: Question, *, conclusions: Sequence[SourcedConclusion]) -> AnswerTask:
    """Return the task of combining conclusions, at least one, into an answer."""
    typical = _CombiningForm(
        answered=True,
        statements=[_Statement(text=conclusions[0].conclusion.text, conclusions=[1])],
        conflicts=[],
        missing="",
    )
    request = ModelRequest(
        task="combine",
        instructions=question.instructions(
            _COMBINING_INSTRUCTIONS, _CONFLICTS, FENCED_DATA, _COMBINING_FORM
        ),
        prompt=f"{_rendered(conclusions)}\n\n{question.prompt()}",
        answer=_CombiningForm,
        max_output_tokens=question.options.max_output_tokens,
        typical=typical.model_dump_json(),
    )

    def read(answer: str) -> Draft:
        form = _CombiningForm.model_validate_json(answer)
        statements = tuple(
            _statement(item, conclusions) for item in form.statements if item.text.strip()
        )
        if form.answered and not statements:
            raise ValueError(
                '"answered" is true, and there is no statement; give one, or say false'
            )
        return Draft(
            answered=form.answered,
            statements=statements,
            conflicts=tuple(
                _statement(item, conclusions) for item in form.conflicts if item.text.strip()
            ),
            missing=form.missing.strip(),
        )

    def read_statement(answer: str) -> Statement:
        return _statement(_Statement.model_validate_json(answer), conclusions)

    return AnswerTask(request=request, read=read, read_statement=read_statement)


def _rendered(conclusions: Sequence[SourcedConclusion]) -> str:
    """Return the text of conclusions, numbered and fenced as data of untrusted documents."""
    parts = [f"Document: {item.document}\n{item.conclusion.text}" for item in conclusions]
    tag = fence_tag(parts, name="conclusion")
    return "\n\n".join(
        f'<{tag} number="{number}">\n{part}\n</{tag}>' for number, part in enumerate(parts, start=1)
    )


def _statement(form: _Statement, conclusions: Sequence[SourcedConclusion]) -> Statement:
    """Return a statement with the quotes of its conclusions; unknown numbers are ignored."""
    numbers = dict.fromkeys(n - 1 for n in form.conclusions if 1 <= n <= len(conclusions))
    quotes = [
        GivenQuote(quote=quote, source=conclusions[number].source)
        for number in numbers
        for quote in conclusions[number].conclusion.quotes
    ]
    return Statement(text=form.text.strip(), quotes=tuple(quotes))
