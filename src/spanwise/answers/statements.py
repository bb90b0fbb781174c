"""Citations of the very characters that an answer quotes.

The parts of a JSON object that are whole while the rest of it is still being written.

An answer as it is read: statements with the numbers of their quotes, each of which is checked.

Rules:
    "[1]" stands for a quote that was found in the text, "[1?]" for one that was not, and "[?]" at
    the end of a statement that quotes nothing. Nothing that a model writes looks like these.
    Quotes of the same characters have one number.
    The place of a citation is where its quote was found, whatever the model says.

An answer as a model writes it, composed statement by statement: at once, or as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.core.answers.citations import QUOTE_CHARS, cite_range
from spanwise.core.answers.drafts import Draft
from spanwise.core.answers.quotes import QuoteChecker
from spanwise.core.documents.versions import text_hash
from spanwise.core.text.model_lines import without_controls
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError
from spanwise.types import AnswerCitation

if TYPE_CHECKING:
    from spanwise.answers.sources import Run, Source
    from spanwise.core.answers.drafts import GivenQuote, Statement
    from spanwise.models.caller import ModelCaller
    from spanwise.models.prompts.answers import AnswerTask
    from spanwise.stores.port import Store
    from spanwise.types import Citation, WholeDocument


class Citer:
    """Cites ranges of documents; reads each document once."""

    def __init__(self, store: Store) -> None:
        """Take the store that the documents are in."""
        self._store = store
        self._documents: dict[str, WholeDocument | None] = {}

    def cite(self, shown: Citation, start: int, text: str) -> Citation:
        """Return the citation of a range.

        Args:
            shown: Of the segment or excerpt that holds it.
            start: First character in the document.
            text: What stands there.
        """
        whole = self._whole(shown.document_id)
        end = start + len(text)
        if whole is not None and whole.document.text[start:end] == text:
            return cite_range(whole, start, end)
        # It was replaced or deleted since it was searched: the pages are those of the segment.
        return replace(
            shown,
            start=start,
            end=end,
            quote=text[:QUOTE_CHARS],
            text_hash=text_hash([text]),
        )

    def _whole(self, document_id: str) -> WholeDocument | None:
        if document_id not in self._documents:
            self._documents[document_id] = self._store.get_whole(document_id)
        return self._documents[document_id]


_OPENING = {"{": "}", "[": "]"}


class PartialObject:
    """Reads an object piece by piece; what stands before its first brace is skipped.

    It checks nothing but brackets and quotation marks: who reads a part finds out whether it is
    JSON.
    """

    def __init__(self) -> None:
        self._text = ""
        self._next = 0
        self._closers: list[str] = []
        self._is_string = False
        self._is_escaped = False
        self._start = 0
        """Where the key or the value begins that is being read."""
        self._key = ""
        self._parts: list[tuple[str, str]] = []

    def feed(self, piece: str) -> list[tuple[str, str]]:
        """Return what became whole with a further piece.

        Returns:
            Key and JSON of each value of the object that is no list and no object, and of each
            element of its lists, in order.
        """
        self._text += piece
        self._parts = []
        while self._next < len(self._text):
            self._read(self._text[self._next])
            self._next += 1
        return self._parts

    def _read(self, character: str) -> None:
        if self._is_string:
            self._is_string = self._is_escaped or character != '"'
            self._is_escaped = character == "\\" and not self._is_escaped
        elif character == '"':
            self._is_string = bool(self._closers)
        elif character in _OPENING:
            self._open(character)
        elif not self._closers:
            pass
        elif character == self._closers[-1]:
            self._end_value()
            self._closers.pop()
        elif character == ",":
            self._end_value()
        elif character == ":" and len(self._closers) == 1:
            self._key = self._taken().strip('"')

    def _open(self, character: str) -> None:
        if not self._closers and character != "{":
            return
        self._closers.append(_OPENING[character])
        if len(self._closers) == 1 or self._is_list():
            self._start = self._next + 1

    def _is_list(self) -> bool:
        """Return whether a list of the object is being read, outside of its elements."""
        return len(self._closers) == 2 and self._closers[-1] == "]"

    def _end_value(self) -> None:
        """Take a value of the object, or an element of a list of it, that ends here."""
        if self._is_list():
            self._add(self._taken())
        elif len(self._closers) == 1:
            value = self._taken()
            if not value.startswith(tuple(_OPENING)):
                self._add(value)

    def _taken(self) -> str:
        taken = self._text[self._start : self._next].strip()
        self._start = self._next + 1
        return taken

    def _add(self, value: str) -> None:
        if value:
            self._parts.append((self._key, value))


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


def compose(
    task: AnswerTask, *, caller: ModelCaller, composer: Composer, streams: bool
) -> Generator[str, None, tuple[Draft, tuple[str, ...]]]:
    """Yield the text of an answer in pieces, whose quotes are checked; return it, with warnings.

    An answer that ends before it is whole keeps the statements that were whole, with a warning,
    where they were yielded already; otherwise it is asked for again.

    Args:
        task: How the model is asked.
        caller: Calls the model.
        composer: Puts the answer together.
        streams: Whether statements are yielded while the others are being written.

    Raises:
        ModelAnswerError: If no answer could be read.
        CostLimitError: If it would cost more than is allowed.
        ModelError: If the model fails before the first statement.
    """
    if not streams or task.read_statement is None:
        draft = caller.call(task.request, read=task.read)
        yield from _rest(draft, composer)
        return draft, ()
    streaming = _Streaming(task=task, composer=composer)
    try:
        yield from streaming.pieces(caller)
    except CostLimitError:
        raise
    except ModelError as error:
        if composer.statements:
            return Draft(answered=True), (f"the answer ends before it is whole: {error}",)
        if not isinstance(error, ModelAnswerError):
            raise
        streaming.draft = caller.call(task.request, read=task.read)
    yield from _rest(streaming.draft, composer)
    return streaming.draft, ()


def _rest(draft: Draft, composer: Composer) -> Generator[str, None, None]:
    """Yield the statements that are not composed yet."""
    if draft.answered:
        for statement in draft.statements[composer.statements :]:
            yield composer.add(statement)


@dataclass(slots=True, kw_only=True)
class _Streaming:
    """Reads an answer while it is being written."""

    task: AnswerTask
    composer: Composer
    draft: Draft = field(default_factory=lambda: Draft(answered=False))
    """The whole answer, once it has been read."""

    def pieces(self, caller: ModelCaller) -> Generator[str, None, None]:
        """Yield statements once they are whole, and the model has said that there is an answer."""
        parts = PartialObject()
        answered = False
        held: list[str] = []
        for piece in caller.stream(self.task.request, read=self._read):
            for key, value in parts.feed(piece):
                if key == "answered":
                    answered = value == "true"
                elif key == "statements":
                    held.append(value)
            while answered and held:
                yield from self._statement(held.pop(0))

    def _read(self, answer: str) -> Draft:
        draft = self.task.read(answer)
        if self.composer.statements and not draft.answered:
            raise ValueError('"answered" is first true and then false')
        self.draft = draft
        return draft

    def _statement(self, value: str) -> Generator[str, None, None]:
        if self.task.read_statement is None:
            return
        try:
            statement = self.task.read_statement(value)
        except ValueError:
            return  # so the whole answer cannot be read either, and the error will say why
        if statement.text:
            yield self.composer.add(statement)
