"""An answer to a question from numbered segments of documents, every statement with quotes."""

from __future__ import annotations

from pydantic import BaseModel

from spanwise.core.drafts import Draft, GivenQuote, Statement
from spanwise.ports import ModelRequest
from spanwise.tasks.asking import FENCED_DATA, QUOTING, AnswerTask, Question

__all__ = ["QuoteForm", "answer_task", "given_quotes"]

_INSTRUCTIONS = """\
You answer a question from segments of documents, for readers who check every claim. The segments \
are numbered.
Use only what stands in the segments: nothing that you know from elsewhere, and no guess. Look at \
whose figures they are and of which year, unit and currency.
Write the answer as statements that read one after the other as one text. Each is one sentence or \
two. Answer the question first, and give reasons and details after that. Where you calculate, say \
how, and quote every number that you take.
For each statement give the quotes that prove it, with the number of the segment in which each \
stands. Write no numbers of segments and no quotation into the text of the statement for that."""

_CONFLICTS = """\
Where the sources contradict each other in what is asked, add a statement to "conflicts" that \
names the documents and says what each of them says, with a quote from each; do not choose between \
them without a reason that stands in them.
If the sources hold no answer, say so by "answered": false and give no statements. If they answer \
a part of the question, answer that part, and say in "missing" what is not there; otherwise \
"missing" is empty.
Write in the language of the question; quotes stay in theirs."""

_FORM = """\
Answer in JSON: {"answered": true, "statements": [{"text": "...", "quotes": [{"segment": 1, \
"quote": "..."}]}], "conflicts": [], "missing": ""}"""


class QuoteForm(BaseModel):
    """A quote as it comes."""

    segment: int
    quote: str


class _Statement(BaseModel):
    text: str
    quotes: list[QuoteForm]


class _Form(BaseModel):
    answered: bool
    statements: list[_Statement]
    conflicts: list[_Statement]
    missing: str


def answer_task(question: Question, *, context: str, first: str) -> AnswerTask:
    """Return how a model is asked for an answer.

    Args:
        question: The question.
        context: The segments, numbered from 1, each in a fence.
        first: Text of the first segment, for the answer that is expected.
    """
    typical = _Form(
        answered=True,
        statements=[_Statement(text=first[:200], quotes=[QuoteForm(segment=1, quote=first[:200])])],
        conflicts=[],
        missing="",
    )
    request = ModelRequest(
        task="answer",
        instructions=question.instructions(_INSTRUCTIONS, QUOTING, _CONFLICTS, FENCED_DATA, _FORM),
        shared=context,
        prompt=question.prompt(),
        answer=_Form,
        max_output_tokens=question.options.max_output_tokens,
        typical=typical.model_dump_json(),
    )
    return AnswerTask(request=request, read=_read, read_statement=_read_statement)


def _read(answer: str) -> Draft:
    form = _Form.model_validate_json(answer)
    statements = tuple(_statement(one) for one in form.statements if one.text.strip())
    if form.answered and not statements:
        raise ValueError('"answered" is true, and there is no statement; give one, or say false')
    return Draft(
        answered=form.answered,
        statements=statements,
        conflicts=tuple(_statement(one) for one in form.conflicts if one.text.strip()),
        missing=form.missing.strip(),
    )


def _read_statement(answer: str) -> Statement:
    return _statement(_Statement.model_validate_json(answer))


def _statement(form: _Statement) -> Statement:
    return Statement(text=form.text.strip(), quotes=given_quotes(form.quotes))


def given_quotes(quotes: list[QuoteForm]) -> tuple[GivenQuote, ...]:
    """Return quotes as they were given, but for those that are empty."""
    return tuple(
        GivenQuote(quote=one.quote.strip(), source=one.segment - 1)
        for one in quotes
        if one.quote.strip()
    )
