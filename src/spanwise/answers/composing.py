"""An answer as it is read: statements with the numbers of their quotes, each of which is checked.

Rules:
    "[1]" stands for a quote that was found in the text, "[1?]" for one that was not, and "[?]" at
    the end of a statement that quotes nothing. Nothing that a model writes looks like these.
    Quotes of the same characters have one number.
    The place of a citation is where its quote was found, whatever the model says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.core.model_lines import without_controls
from spanwise.core.quotes.check import QuoteChecker
from spanwise.types import AnswerCitation

if TYPE_CHECKING:
    from spanwise.answers.citing import Citer
    from spanwise.answers.sources import Run, Source
    from spanwise.core.drafts import GivenQuote, Statement

__all__ = ["Composer"]

_MARKER = re.compile(r"[\[［【〔〖⟦❲⁅]([\s\d²³¹⁰⁴-⁹₀-₉①-⑳?,;–\u200c\u200d-]*)[\]］】〕〗⟧❳⁆]")
_LIST_ITEM = ("- ", "* ", "• ")


class Composer:
    """Puts an answer together, statement by statement."""

    def __init__(self, sources: Sequence[Source], *, citer: Citer) -> None:
        """Take what the model was shown.

        Args:
            sources: In the order in which they were shown.
            citer: Makes the citations.
        """
        self._citer = citer
        self._runs: list[tuple[Source, Run]] = [(one, run) for one in sources for run in one.runs]
        self._sources = tuple(sources)
        self._checker = QuoteChecker([run.text for _, run in self._runs])
        self._numbers: dict[tuple[str, int, int] | str, int] = {}
        self._citations: list[AnswerCitation] = []
        self._text = ""
        self._statements = self._unproved = 0

    @property
    def text(self) -> str:
        """The text of all statements so far."""
        return self._text

    @property
    def citations(self) -> tuple[AnswerCitation, ...]:
        """All citations so far, by number."""
        return tuple(self._citations)

    @property
    def statements(self) -> int:
        """How many statements there are so far, conflicts not among them."""
        return self._statements

    def warnings(self) -> tuple[str, ...]:
        """Return what is said of statements and quotes that could not be checked."""
        failed = sum(not one.verified for one in self._citations)
        said = []
        if self._unproved:
            noun = "statement has" if self._unproved == 1 else "statements have"
            said.append(f"{self._unproved} {noun} no checked quote")
        if failed:
            noun = "quote was" if failed == 1 else "quotes were"
            said.append(f"{failed} {noun} not found in the text and marked so")
        return tuple(said)

    def add(self, statement: Statement) -> str:
        """Add a statement, and return what it adds to the text."""
        rendered = self._rendered(statement)
        between = "\n" if rendered.startswith(_LIST_ITEM) else " "
        piece = f"{between}{rendered}" if self._text else rendered
        self._text += piece
        self._statements += 1
        return piece

    def conflict(self, statement: Statement) -> str:
        """Return a statement that is no part of the text, as the text would have it."""
        return self._rendered(statement)

    def _rendered(self, statement: Statement) -> str:
        # A bracket of the model is no marker of ours.
        said = _MARKER.sub(r"(\1)", without_controls(statement.text).strip())
        cited = [self._cited(quote) for quote in statement.quotes]
        if not any(one.verified for one in cited):
            self._unproved += 1
        markers = dict.fromkeys(one.mark for one in cited)
        return f"{said} {''.join(markers) or '[?]'}"

    def _cited(self, given: GivenQuote) -> AnswerCitation:
        """Return the citation of a quote, the one that there is where it was cited before."""
        cited = [
            number
            for number, (source, _) in enumerate(self._runs)
            if 0 <= given.source < len(self._sources) and source is self._sources[given.source]
        ]
        checked = self._checker.check(given.quote, cited=cited)
        citation = None
        key: tuple[str, int, int] | str = " ".join(given.quote.split())
        if checked.text is not None:
            source, run = self._runs[checked.text]
            text = run.text[checked.start : checked.end]
            citation = self._citer.cite(source.citation, run.start + checked.start, text)
            key = (citation.document_id, citation.start, citation.end)
        if key not in self._numbers:
            self._numbers[key] = len(self._citations) + 1
            self._citations.append(
                AnswerCitation(
                    number=self._numbers[key],
                    quote=given.quote,
                    status=checked.status,
                    similarity=checked.similarity,
                    citation=citation,
                )
            )
        return self._citations[self._numbers[key] - 1]
