"""Composition of an answer from a model's statements, with checked quotes as citations.

Rules:
    "[1]" marks a quote that was found in the text, "[1?]" a quote that was not found, and "[?]" a
    statement without quotes. "[!]" marks the number, date or name in front of it that no checked
    quote of its statement contains, and that is not the result of its calculation. Similar brackets
    in the model's own text are replaced by parentheses. Quotes of the same range share one number.
    Operands of a calculation are cited like quotes of their statement, and its result is computed.
    A citation refers to the place where its quote was found, even if the model named another
    source.
    A streamed answer yields a statement once the model has written it completely.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from spanwise.core.answers.calculations import check_calculation, contains_operand
from spanwise.core.answers.citations import QUOTE_CHARS, cite_range
from spanwise.core.answers.drafts import Draft
from spanwise.core.answers.quotes import QuoteChecker
from spanwise.core.answers.support import QuotedPassage, Support, unsupported_claims
from spanwise.core.documents.versions import text_hash
from spanwise.core.text.model_lines import without_controls
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError
from spanwise.types import (
    AnswerCalculation,
    AnswerCitation,
    CalculationOperand,
    UnsupportedClaim,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from spanwise.answers.answer_sources import Source, Span
    from spanwise.core.answers.drafts import Calculation, GivenQuote, Statement
    from spanwise.core.answers.quotes import CheckedQuote
    from spanwise.core.answers.support import Claim
    from spanwise.models.caller import ModelCaller
    from spanwise.models.prompts.answers import AnswerTask
    from spanwise.types import Citation, WholeDocument

_UNSUPPORTED = "[!]"
_MARKER = re.compile(r"[\[［【〔〖⟦❲⁅]([\s\d!！²³¹⁰⁴-⁹₀-₉①-⑳?,;–\u200c\u200d-]*)[\]］】〕〗⟧❳⁆]")
_VALUE_BEGINS = frozenset('{["')
_LIST_ITEM = ("- ", "* ", "• ")


def without_markers(text: str) -> str:
    """Return a text of a model or document without control characters and citation markers."""
    return _MARKER.sub(r"(\1)", without_controls(text).strip())


class Citer:
    """Creates citations of ranges of stored documents; reads each document once."""

    def __init__(self, read: Callable[[Citation], WholeDocument | None]) -> None:
        """Create a citer.

        Args:
            read: Function that returns the document of a citation; None if it was removed.
        """
        self._read = read
        self._documents: dict[tuple[str, str], WholeDocument | None] = {}

    def cite(self, source: Citation, start: int, text: str) -> Citation:
        """Return the citation of a range.

        Args:
            source: Citation of the segment or excerpt that contains the range.
            start: Offset of the first character in the document.
            text: Text of the range.
        """
        whole = self._whole(source)
        end = start + len(text)
        if whole is not None and whole.document.text[start:end] == text:
            return cite_range(whole, start, end)
        # The document was replaced or deleted after the search: keep the pages of the segment.
        return replace(
            source,
            start=start,
            end=end,
            quote=text[:QUOTE_CHARS],
            text_hash=text_hash([text]),
        )

    def _whole(self, source: Citation) -> WholeDocument | None:
        document = (source.knowledge_base, source.document_id)
        if document not in self._documents:
            self._documents[document] = self._read(source)
        return self._documents[document]


class Composer:
    """Composes an answer statement by statement."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        citer: Citer,
        question: str = "",
        first_number: int = 1,
    ) -> None:
        """Create a composer with an empty answer.

        Args:
            sources: Sources in the order in which the model read them.
            citer: Creates the citations.
            question: Question; statements may repeat its numbers, dates and names.
            first_number: Number of the first citation.
        """
        self._first_number = first_number
        self._question = question
        self._passages: dict[int, QuotedPassage] = {}
        self._unsupported: list[UnsupportedClaim] = []
        self._calculations: list[AnswerCalculation] = []
        self._citer = citer
        self._sources: tuple[Source, ...] = ()
        self._spans: list[tuple[Source, Span]] = []
        self.add_sources(sources)
        self._numbers: dict[tuple[str, str, int, int] | str, int] = {}
        self._citations: list[AnswerCitation] = []
        self._text = ""
        self._added: list[Statement] = []
        self._statements = self._proved = self._unproved = 0

    def add_sources(self, sources: Sequence[Source]) -> None:
        """Add sources that the model reads; their numbers follow those of the earlier sources."""
        self._sources = (*self._sources, *sources)
        self._spans += [(source, span) for source in sources for span in source.spans]
        self._checker = QuoteChecker([span.text for _, span in self._spans])

    @property
    def text(self) -> str:
        """Text of the statements that were added so far, with citation markers."""
        return self._text

    @property
    def citations(self) -> tuple[AnswerCitation, ...]:
        """Citations of the statements that were rendered so far, ordered by number."""
        return tuple(self._citations)

    @property
    def unsupported(self) -> tuple[UnsupportedClaim, ...]:
        """Numbers, dates and names that were marked so far."""
        return tuple(self._unsupported)

    @property
    def calculations(self) -> tuple[AnswerCalculation, ...]:
        """Calculations of the statements that were rendered so far."""
        return tuple(self._calculations)

    @property
    def statements(self) -> int:
        """Number of statements that were added so far; conflicts are not counted."""
        return self._statements

    @property
    def proved(self) -> int:
        """Number of statements with a checked quote that were added so far."""
        return self._proved

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about statements, quotes, numbers and calculations that failed."""
        failed = sum(not citation.verified for citation in self._citations)
        messages = []
        if self._unproved:
            noun = "statement has" if self._unproved == 1 else "statements have"
            messages.append(f"{self._unproved} {noun} no checked quote")
        if failed:
            noun = "quote was" if failed == 1 else "quotes were"
            messages.append(f"{failed} {noun} not found in the text and marked so")
        if self._unsupported:
            claims = ", ".join(dict.fromkeys(claim.claim for claim in self._unsupported))
            messages.append(f"marked [!], not in the quotes of the statement: {claims}")
        messages += [
            f"calculation {calculation.formula}: {calculation.problem}"
            for calculation in self._calculations
            if calculation.problem
        ]
        return tuple(messages)

    def add(self, statement: Statement) -> str:
        """Add a statement, and return the text that it adds; nothing for a repeated statement."""
        self._statements += 1
        if statement in self._added:
            self._proved += 1
            return ""
        self._added.append(statement)
        unproved = self._unproved
        rendered = self.render(statement)
        self._proved += self._unproved == unproved
        separator = "\n" if rendered.startswith(_LIST_ITEM) else " "
        piece = f"{separator}{rendered}" if self._text else rendered
        self._text += piece
        return piece

    def render(self, statement: Statement) -> str:
        """Return a statement with its citation markers; the text of the answer does not change."""
        given = without_controls(statement.text).strip()
        text = _MARKER.sub(r"(\1)", given)
        imitated = [match.span() for match in _MARKER.finditer(given)]
        citations = [self._cite(quote) for quote in statement.quotes]
        computed: tuple[Decimal, ...] = ()
        if statement.calculation is not None:
            cited_by_operand = [
                [self._cite(quote) for quote in operand.quotes]
                for operand in statement.calculation.operands
            ]
            citations += [cited for operand in cited_by_operand for cited in operand]
            computed = self._check(statement.calculation, cited_by_operand)
        verified = [citation for citation in citations if citation.verified]
        if not verified:
            self._unproved += 1
        markers = dict.fromkeys(citation.mark for citation in citations)
        claims: list[Claim] = []
        if verified:  # otherwise, the statement is marked as a whole
            support = Support(
                quotes=[self._passages[citation.number] for citation in verified],
                question=self._question,
                computed=computed,
            )
            claims = unsupported_claims(text, support, except_in=imitated)
        return f"{self._marked(text, claims)} {''.join(markers) or '[?]'}"

    def unsupported_in(self, text: str) -> tuple[str, ...]:
        """Return the numbers, dates and names of another text that no quote so far supports.

        Without a checked quote, these are all.
        """
        support = Support(quotes=tuple(self._passages.values()), question=self._question)
        return tuple(text[claim.start : claim.end] for claim in unsupported_claims(text, support))

    def _marked(self, text: str, claims: Sequence[Claim]) -> str:
        """Return a statement with a mark after each unsupported claim, and record the claims."""
        marked, end = "", 0
        for claim in claims:
            written = text[claim.start : claim.end]
            self._unsupported.append(
                UnsupportedClaim(claim=written, kind=claim.kind, statement=text)
            )
            marked += text[end : claim.end] + _UNSUPPORTED
            end = claim.end
        return marked + text[end:]

    def _check(
        self, calculation: Calculation, cited: Sequence[Sequence[AnswerCitation]]
    ) -> tuple[Decimal, ...]:
        """Add a calculation to the answer, and return the results that its operands prove.

        Args:
            calculation: Calculation of a statement.
            cited: Citations of each operand.
        """
        quoted = [
            [self._passages[one.number].text for one in citations if one.verified]
            for citations in cited
        ]
        checked = check_calculation(calculation, quoted)
        operands = tuple(
            CalculationOperand(
                name=operand.name,
                value=operand.value,
                citation=self._citation_of(operand.value, citations),
            )
            for operand, citations in zip(calculation.operands, cited, strict=True)
        )
        self._calculations.append(
            AnswerCalculation(
                formula=calculation.formula,
                operands=operands,
                status=checked.status,
                result=checked.result,
                given=calculation.result,
                problem=checked.problem,
            )
        )
        return checked.parts

    def _citation_of(self, value: str, cited: Sequence[AnswerCitation]) -> int:
        """Return the number of the citation with a value, or else of the first one; 0 for none."""
        numbers = [
            citation.number
            for citation in cited
            if citation.verified and contains_operand(self._passages[citation.number].text, value)
        ]
        return next(iter([*numbers, *(citation.number for citation in cited)]), 0)

    def _cite(self, quote: GivenQuote) -> AnswerCitation:
        """Return the citation of a quote; quotes of the same range share one citation."""
        cited_spans = [
            number
            for number, (source, _) in enumerate(self._spans)
            if 0 <= quote.source < len(self._sources) and source is self._sources[quote.source]
        ]
        checked = self._checker.check(quote.quote, cited=cited_spans)
        citation = None
        key: tuple[str, str, int, int] | str = " ".join(quote.quote.split())
        if checked.text is not None:
            source, span = self._spans[checked.text]
            text = span.text[checked.start : checked.end]
            citation = self._citer.cite(source.citation, span.start + checked.start, text)
            document = (citation.knowledge_base, citation.document_id)
            key = (*document, citation.start, citation.end)
        if key not in self._numbers:
            self._numbers[key] = self._first_number + len(self._citations)
            if checked.text is not None and citation is not None:
                self._passages[self._numbers[key]] = _passage(source, span, checked, citation)
            self._citations.append(
                AnswerCitation(
                    number=self._numbers[key],
                    quote=quote.quote,
                    status=checked.status,
                    similarity=checked.similarity,
                    citation=citation,
                )
            )
        return self._citations[self._numbers[key] - self._first_number]


def _passage(
    source: Source, span: Span, checked: CheckedQuote, citation: Citation
) -> QuotedPassage:
    """Return a checked quote with the text around it."""
    place = (source.citation.title, source.citation.document_id, *source.citation.section_path)
    return QuotedPassage(
        text=span.text[checked.start : checked.end],
        above=span.text[: checked.start],
        segment=span.text,
        header=source.header,
        place="\n".join((*place, *citation.section_path)),
        pages=citation.page_numbers,
    )


def compose(
    task: AnswerTask, *, caller: ModelCaller, composer: Composer, streams: bool
) -> Generator[str, None, tuple[Draft, tuple[str, ...]]]:
    """Yield the text of an answer in pieces with checked quotes; return its draft and warnings.

    If a stream ends early, the statements yielded so far are the answer, with a warning. If none
    was yielded, the model is called again.

    Args:
        task: Request to the model, with the parser of its answer.
        caller: Caller of the model.
        composer: Composer of the answer.
        streams: Whether statements are yielded while the model is still writing.

    Raises:
        ModelAnswerError: If no answer was usable.
        CostLimitError: If a call would exceed the cost limit.
        ModelError: If the model fails before the first statement.
    """
    before = composer.statements
    if not streams or task.read_statement is None:
        draft = caller.call(task.request, read=task.read)
        yield from _add_rest(draft, composer, before=before)
        return draft, ()
    streaming = _Streaming(task=task, composer=composer, before=before)
    try:
        yield from streaming.pieces(caller)
    except CostLimitError:
        raise
    except ModelError as error:
        if composer.statements > before:
            return Draft(answered=True), (f"the answer ends before it is complete: {error}",)
        if not isinstance(error, ModelAnswerError):
            raise
        streaming.draft = caller.call(task.request, read=task.read)
    yield from _add_rest(streaming.draft, composer, before=before)
    return streaming.draft, ()


def _add_rest(draft: Draft, composer: Composer, *, before: int) -> Generator[str, None, None]:
    """Add and yield the statements of a draft that the composer does not have yet.

    Args:
        draft: Complete answer of the model.
        composer: Composer of the answer.
        before: Number of statements that the composer had before the draft.
    """
    if draft.answered:
        for statement in draft.statements[composer.statements - before :]:
            yield composer.add(statement)


@dataclass(slots=True, kw_only=True)
class _Streaming:
    """Reads an answer while the model is writing it."""

    task: AnswerTask
    composer: Composer
    before: int
    """Number of statements that the composer had before this answer."""
    draft: Draft = field(default_factory=lambda: Draft(answered=False))
    """Draft of the complete answer, once it was parsed."""

    def pieces(self, caller: ModelCaller) -> Generator[str, None, None]:
        """Yield each complete statement, after the model has written that it can answer."""
        text, read = "", 0
        for piece in caller.stream(self.task.request, read=self._read):
            text += piece
            if _VALUE_BEGINS.isdisjoint(piece):  # no other piece completes a statement
                continue
            statements = complete_statements(text)
            for statement in statements[read:]:
                yield from self._add(statement)
            read = max(read, len(statements))

    def _read(self, answer: str) -> Draft:
        draft = self.task.read(answer)
        if self.composer.statements > self.before and not draft.answered:
            raise ValueError('"answered" is first true and then false')
        self.draft = draft
        return draft

    def _add(self, statement_json: str) -> Generator[str, None, None]:
        if self.task.read_statement is None:
            return
        try:
            statement = self.task.read_statement(statement_json)
        except ValueError:
            return  # parsing the complete answer will raise the error
        if statement.text:
            yield self.composer.add(statement)


def complete_statements(text: str) -> list[str]:
    """Return the complete statements of a partly written answer, each as JSON.

    A statement is complete once another statement or another field of the answer has begun. Text
    before the first brace is skipped.

    Returns:
        Elements of "statements" in order; none unless "answered" is true.
    """
    start = text.find("{")
    try:
        answer: Any = from_json(text[start:], allow_partial=True) if start >= 0 else {}
    except ValueError:
        return []
    statements = answer.get("statements")
    if answer.get("answered") is not True or not isinstance(statements, list):
        return []
    # If "statements" occurs twice, it keeps its first place, and its last item may be partial.
    is_closed = next(reversed(answer)) != "statements" and text.count('"statements"') == 1
    return [json.dumps(statement) for statement in (statements if is_closed else statements[:-1])]
