"""Prompts for answers in two steps: conclusions from each excerpt, then one combined answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from spanwise.core.answers.drafts import Calculation, Draft, GivenQuote, Operand, Statement
from spanwise.core.text.fences import fence_tag
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.answers import (
    ASSUMING,
    CALCULATING,
    PERIODS,
    QUOTING,
    WORKING,
    AnswerTask,
    Question,
    all_required,
    fenced_data,
)

_INSTRUCTIONS = """\
You read one excerpt of a document and write down what it contributes to the answer to a question. \
Other readers read other excerpts, and someone else combines all conclusions into one answer. \
Write down everything in your excerpt that bears on the question, even if it answers only a part.
Use only what the excerpt says: nothing that you know from elsewhere, and no guesses. Each \
conclusion is one or two sentences that can be understood without the excerpt: it names the \
company, person or thing, and the year, unit and currency where they matter.
For each conclusion give the quotes that prove it. Every number, date and name in a conclusion \
must be in its quotes.
If the excerpt says nothing about the question, set "relevant" to false and give no conclusions; \
that is a good answer.
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
        instructions=question.instructions(
            _INSTRUCTIONS, QUOTING, fenced_data(context, name="segment"), _FORM
        ),
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
You combine the conclusions of several readers into one answer to a question, for readers who \
check every claim. Each of them read another excerpt. Their conclusions are numbered and name \
their document.
Use only what the conclusions say: nothing that you know from elsewhere, and no guesses. Check \
whose figures they are, and their year, unit and currency."""

_STATEMENTS = """\
Write the answer as statements that read as one text, each of one or two sentences. Answer the \
question first; reasons and details follow.
For each statement give the numbers of all conclusions that it uses: their quotes are shown with \
it. Do not write numbers of conclusions into the text of the statement."""

_OPERANDS = """\
Each operand has a name, a value that is copied from a conclusion, and the number of this \
conclusion. "result" is the number in the statement."""

_CONFLICTS = """\
If conclusions contradict each other about the same thing in the same period, add a statement to \
"conflicts" that names the documents and says what each of them says, with the numbers of the \
conclusions."""

_MISSING = """\
If the conclusions contain no answer, set "answered" to false and give no statements. If they \
answer a part of the question, answer that part, and describe in "missing" the part that is not \
answered; otherwise "missing" is empty.
Write in the language of the question."""

_COMBINING_FORM = """\
Answer in JSON: {"working": "...", "answered": true, "statements": [{"text": "...", \
"conclusions": [1, 2], "calculation": null}], "conflicts": [], "assumed": "", "missing": ""}
A calculation has this form: {"formula": "(a - b) / b * 100", "operands": [{"name": "a", "value": \
"5,308", "conclusion": 1}, ...], "result": "..."}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedConclusion:
    """Conclusion with the excerpt that it comes from."""

    conclusion: Conclusion
    source: int
    """Position of the excerpt, from 0."""
    document: str
    """Title of the excerpt's document."""


class _Operand(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)
    name: str
    value: str
    conclusion: int


class _Calculation(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True, json_schema_extra=all_required)
    formula: str
    operands: list[_Operand]
    result: str = ""


class _Statement(BaseModel):
    model_config = ConfigDict(json_schema_extra=all_required)
    text: str
    conclusions: list[int]
    calculation: _Calculation | None = None


class _CombiningForm(BaseModel):
    model_config = ConfigDict(json_schema_extra=all_required)
    working: str = ""
    answered: bool
    statements: list[_Statement]
    conflicts: list[_Statement]
    assumed: str = ""
    missing: str


def combining_task(question: Question, *, conclusions: Sequence[SourcedConclusion]) -> AnswerTask:
    """Return the task of combining conclusions, at least one, into an answer."""
    typical = _CombiningForm(
        working=conclusions[0].conclusion.text,
        answered=True,
        statements=[_Statement(text=conclusions[0].conclusion.text, conclusions=[1])],
        conflicts=[],
        missing="",
    )
    context = _rendered(conclusions)
    request = ModelRequest(
        task="combine",
        instructions=question.instructions(
            _COMBINING_INSTRUCTIONS,
            WORKING,
            _STATEMENTS,
            f"{CALCULATING} {_OPERANDS}",
            f"{_CONFLICTS} {PERIODS}\n{ASSUMING}\n{_MISSING}",
            fenced_data(context, name="conclusion"),
            _COMBINING_FORM,
        ),
        prompt=f"{context}\n\n{question.prompt()}",
        answer=_CombiningForm,
        max_output_tokens=question.options.max_output_tokens,
        temperature=question.options.temperature,
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
            assumed=form.assumed.strip(),
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
    return Statement(
        text=form.text.strip(),
        quotes=_quotes(form.conclusions, conclusions),
        calculation=None
        if form.calculation is None
        else _calculation(form.calculation, conclusions),
    )


def _quotes(
    numbers: Sequence[int], conclusions: Sequence[SourcedConclusion]
) -> tuple[GivenQuote, ...]:
    """Return the quotes of conclusions by their numbers, from 1; unknown numbers are ignored."""
    known = dict.fromkeys(number - 1 for number in numbers if 1 <= number <= len(conclusions))
    return tuple(
        GivenQuote(quote=quote, source=conclusions[number].source)
        for number in known
        for quote in conclusions[number].conclusion.quotes
    )


def _calculation(
    form: _Calculation, conclusions: Sequence[SourcedConclusion]
) -> Calculation | None:
    """Return a calculation with the quotes of its conclusions; None without a formula."""
    if not form.formula.strip():
        return None
    return Calculation(
        formula=form.formula.strip(),
        operands=tuple(
            Operand(
                name=item.name.strip(),
                value=item.value.strip(),
                quotes=_quotes([item.conclusion], conclusions),
            )
            for item in form.operands
        ),
        result=form.result.strip(),
    )
