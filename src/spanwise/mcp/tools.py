"""Text that agents receive from knowledge bases, within the token budget that they request.

Each method is one tool and returns text for a language model. The text of documents is between
tags as in `SearchResult.context`. If something does not fit the budget, the last line says how to
get the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from spanwise.core.text.fences import fence_tag
from spanwise.errors import DocumentNotFoundError, OptionError
from spanwise.knowledge_base.facade import KnowledgeBase
from spanwise.knowledge_base.internals import settings_of
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import ExcerptResult
from spanwise.types.notebook import counted

if TYPE_CHECKING:
    from spanwise.filters import Where
    from spanwise.mcp.scope import Scope
    from spanwise.models.ports import LanguageModel
    from spanwise.types import (
        Answer,
        DocumentRecord,
        Page,
        SearchResult,
        Section,
    )

MIN_BUDGET, MAX_BUDGET = 100, 200_000
_MIN_EXCERPT_TOKENS = 250  # a smaller excerpt has no room for its header
_NOTE_TOKENS = 60  # room for the lines around a text
_PAGE = re.compile(r"[0-9]{1,9}")
_LISTED = 20  # documents, failures and warnings of an added URL that are listed
_CHARS_PER_TOKEN = 8  # no text has more characters per token, except white space


class _Selection(TypedDict):
    where: Where | None
    documents: Sequence[str] | None


class DocumentTools:
    """Tools for the documents of one agent's scope."""

    def __init__(self, scope: Scope, *, llm: str | LanguageModel | None = None) -> None:
        """Create the tools.

        Args:
            scope: Knowledge bases and documents that the tools may use.
            llm: Language model of `ask`; None if there is none.
        """
        self.scope = scope
        self.llm = llm

    def search(
        self,
        question: str,
        *,
        where: str,
        documents: Sequence[str],
        token_budget: int,
        knowledge_base: str = "",
    ) -> str:
        """Return the segments that answer a question, with their places."""
        base, scope = self._searched(knowledge_base, where, documents)

        def find(budget: int) -> SearchResult:
            return self.scope.shown(base.search(question, budget_tokens=budget, **scope))

        return self._within(find, token_budget)

    def excerpts(
        self,
        question: str,
        *,
        where: str,
        documents: Sequence[str],
        excerpts: int,
        token_budget: int,
        knowledge_base: str = "",
    ) -> str:
        """Return longer excerpts around the segments that answer a question."""
        base, scope = self._searched(knowledge_base, where, documents)

        def find(budget: int) -> ExcerptResult:
            count = max(min(excerpts, budget // _MIN_EXCERPT_TOKENS), 1)
            return self.scope.shown(
                base.excerpts(
                    question, excerpts=count, excerpt_tokens=max(budget // count, 1), **scope
                )
            )

        return self._within(find, token_budget)

    def ask(
        self,
        question: str,
        *,
        where: str,
        documents: Sequence[str],
        token_budget: int,
        knowledge_base: str = "",
    ) -> str:
        """Return an answer by the configured language model, with checked quotes.

        Raises:
            OptionError: If there is no language model.
        """
        if self.llm is None:
            raise OptionError(
                "no language model is configured; start the server with --llm, or use `search`"
            )
        base, scope = self._searched(knowledge_base, where, documents, needs_documents=True)
        answer = self.scope.shown(base.ask(question, llm=self.llm, **scope))
        return self._fit(_answer_lines(answer), token_budget, rest="{} more lines")

    def _searched(
        self,
        knowledge_base: str,
        where: str,
        documents: Sequence[str],
        *,
        needs_documents: bool = False,
    ) -> tuple[KnowledgeBase, _Selection]:
        """Return the scope of a question: a knowledge base, and a selection of its documents.

        Raises:
            OptionError: If the knowledge base is unknown, or several cannot be searched together.
            FilterError: If the filter is invalid.
            DocumentNotFoundError: If the scope has no document with one of the ids.
        """
        names = [knowledge_base] if knowledge_base else self.scope.names()
        base = self.scope.several(names)
        chosen = documents or None
        self.scope.check_question(names, where or None, chosen, needs_documents=needs_documents)
        return base, {"where": self.scope.where(where or None), "documents": chosen}

    def list_documents(
        self, *, where: str, start: int, token_budget: int, knowledge_base: str = ""
    ) -> str:
        """Return the documents, one per line, from the position `start`."""
        records = list(self.records(where or None, knowledge_base=knowledge_base))
        if not records:
            return self._no_documents(where, knowledge_base)
        if not 0 <= start < len(records):
            raise OptionError(
                f"start is {start}, and there are {counted(len(records), 'document')}; give 0 to "
                f"{len(records) - 1}"
            )
        lines = [counted(len(records), "document") + ":"]
        lines += [self._document_line(name, record) for name, record in records[start:]]
        return self._fit(
            lines,
            token_budget,
            rest=f"{{}} more documents; continue with start={{}} (of {len(records)})",
            start=start,
        )

    def outline(self, document_id: str, *, knowledge_base: str, token_budget: int) -> str:
        """Return the numbered sections of a document as a tree.

        Raises:
            DocumentNotFoundError: If the document is unknown.
        """
        name, base, record = self._found(document_id, knowledge_base)
        sections = base.sections(document_id)
        pages = base.get(document_id).pages
        lines = [self._document_line(name, record), ""]
        lines += _tree(sections, [_pages(pages, one.start, one.end) for one in sections])
        return self._fit(lines, token_budget, rest="{} more lines; state a larger token_budget")

    def read(
        self,
        document_id: str,
        *,
        knowledge_base: str,
        section: int,
        pages: str,
        start: int,
        token_budget: int,
    ) -> str:
        """Return the text of a document: a section, pages, or the text from an offset.

        Raises:
            DocumentNotFoundError: If the document is unknown.
            OptionError: If the section or the pages do not exist, or two places are given.
        """
        _, base, _ = self._found(document_id, knowledge_base)
        document = base.get(document_id)
        begin, end = 0, len(document.text)
        if section and pages:
            raise OptionError("section and pages are given; give one of them")
        if section:
            begin, end = _section_range(base.sections(document_id), section)
        if pages:
            begin, end = _page_range(pages, [(one.start, one.end) for one in document.pages])
        if start and not begin <= start < end:
            raise OptionError(f"start is {start}; give a character from {begin} to {end - 1}")
        begin = max(begin, start)
        place = f"section={section}, " if section else f"pages={pages!r}, " if pages else ""
        budget = _checked_budget(token_budget)
        name = _attribute(self._cut(document_id, budget // 4))

        def page(text: str) -> str:
            last = begin + len(text)
            citation = self._cut(str(base.cite(document_id, begin, last)), budget // 4).rstrip()
            tag = fence_tag([document_id, text], name="text")
            lines = [
                citation,
                f'<{tag} document="{name}" characters="{begin}-{last}">',
                text.strip("\n"),
                f"</{tag}>",
            ]
            if last < end:
                lines.append(f"Cut to fit the token budget; continue with {place}start={last}.")
            return "\n".join(lines)

        text = self._cut(document.text[begin:end], budget - _NOTE_TOKENS)
        excess = self._count(page(text)) - budget
        if excess > 0:
            text = self._cut(text, max(self._count(text) - excess, 1))
        return page(text)

    def text_of(self, knowledge_base: str, document_id: str) -> str:
        """Return the whole text of a document.

        Raises:
            DocumentNotFoundError: If the document is unknown.
        """
        _, base, _ = self._found(document_id, knowledge_base)
        return base.get(document_id).text

    def records(
        self, where: str | None = None, *, knowledge_base: str = ""
    ) -> Iterator[tuple[str, DocumentRecord]]:
        """Yield the name of the knowledge base and the record of each document.

        Args:
            where: Filter; None for all documents.
            knowledge_base: Name of the only knowledge base; empty for all.
        """
        for name in [knowledge_base] if knowledge_base else self.scope.names():
            for record in self.scope.records(self.scope.base(name), where):
                yield name, record

    def add_text(self, document_id: str, text: str, *, title: str, knowledge_base: str) -> str:
        """Add a text, and return a sentence about it."""
        base = self._base_for_writing(knowledge_base)
        base.add_text(text, document_id=document_id, title=title, media_type="text/markdown")
        return f"Added {document_id!r}: {counted(base.record(document_id).chunks, 'chunk')}."

    def add_url(self, url: str, *, knowledge_base: str) -> str:
        """Add the documents at a URL, and return what was stored, failures and warnings, as lines.

        Raises:
            OptionError: If it is not an http or https URL: files of the server cannot be read.
        """
        if not url.lower().startswith(("http://", "https://")):
            raise OptionError(f"url is {url[:80]!r}; give one that begins with http:// or https://")
        report = self._base_for_writing(knowledge_base).add(url)
        stored = [*report.added, *report.replaced, *report.updated, *report.unchanged]
        failures = [f"{failure.code}: {failure.message}" for failure in report.failed]
        warnings = [f"Note: {warning}." for warning in report.warnings]
        lines = [f"Stored {', '.join(_listed(map(repr, stored)))}."] if stored else []
        lines += [*_listed(failures), *_listed(warnings)]
        return "\n".join(lines) or "Nothing was added."

    def remove(self, document_id: str, *, knowledge_base: str) -> str:
        """Remove a document, and return a sentence about it.

        Raises:
            DocumentNotFoundError: If the document is unknown.
        """
        name, base, record = self._found(document_id, knowledge_base)
        base.remove(document_id)
        self.scope.forget_upload(name, record)
        return f"Removed {document_id!r}."

    @cached_property
    def _count(self) -> Callable[[str], int]:
        """Function that counts the tokens of a text."""
        first = self.scope.base(self.scope.names()[0])
        is_open = isinstance(first, KnowledgeBase)
        name = settings_of(first).tokenizer if is_open else first.info().settings["tokenizer"]
        tokenizer = make_tokenizer(name)
        return lambda text: tokenizer.count([text])[0]

    def _no_documents(self, where: str, knowledge_base: str) -> str:
        """Return a sentence about an empty list; near values only if all documents may be read."""
        if not where:
            return "There are no documents."
        if self.scope.is_restricted:
            return "No document passes the filter."
        names = [knowledge_base] if knowledge_base else self.scope.names()
        warnings = [self.scope.base(name).filter_warning(where) for name in names]
        return next(filter(None, warnings), "There are no documents.")

    def _found(
        self, document_id: str, knowledge_base: str
    ) -> tuple[str, KnowledgeBase, DocumentRecord]:
        """Return the name of the knowledge base that contains a document, it, and the record.

        Raises:
            DocumentNotFoundError: If none contains it.
            OptionError: If the knowledge base is unknown, or several contain the document.
        """
        if knowledge_base:
            base = self.scope.base(knowledge_base)
            return knowledge_base, base, self.scope.record(base, document_id)
        found = []
        for name in self.scope.names():
            base = self.scope.base(name)
            with suppress(DocumentNotFoundError):
                found.append((name, base, self.scope.record(base, document_id)))
        if not found:
            raise DocumentNotFoundError(
                f"no document has the id {document_id[:200]!r}; `list_documents` shows the ids"
            )
        if len(found) > 1:
            names = " and ".join(name for name, _, _ in found)
            raise OptionError(
                f"{names} contain {document_id!r}; name one of them as knowledge_base"
            )
        return found[0]

    def _base_for_writing(self, knowledge_base: str) -> KnowledgeBase:
        names = self.scope.names()
        if knowledge_base or len(names) == 1:
            return self.scope.base(knowledge_base or names[0])
        raise OptionError(
            f"knowledge_base is missing; give one of {', '.join(names)} to add documents to"
        )

    def _within(
        self, find: Callable[[int], SearchResult | ExcerptResult], token_budget: int
    ) -> str:
        """Return the context and the notes of a search, together within the budget."""
        budget = _checked_budget(token_budget)
        text = _result_text(find(budget))
        excess = self._count(text) - budget
        if excess > 0:
            text = _result_text(find(max(budget - excess - _NOTE_TOKENS, budget // 4)))
        return text if self._count(text) <= budget else self._cut(text, budget)

    def _cut(self, text: str, budget: int) -> str:
        """Return the beginning of a text that fits the budget.

        It ends with a paragraph, a line or a word, whichever loses less than half.
        """
        part = text[: budget * _CHARS_PER_TOKEN]
        if len(part) == len(text) and self._count(part) <= budget:
            return text
        while (tokens := self._count(part)) > budget:
            part = part[: min(int(len(part) * budget / tokens), len(part) - 1)]
        for end in ("\n\n", "\n", " "):
            cut = part.rfind(end) + len(end)
            if cut > len(part) // 2:
                return part[:cut]
        return part

    def _fit(self, lines: Sequence[str], token_budget: int, *, rest: str, start: int = 0) -> str:
        """Return lines that fit the budget; a last line counts the others.

        Args:
            lines: Lines; the first two are shown in any case, and cut if necessary.
            token_budget: Maximum number of tokens.
            rest: Text of the last line, with a place for the number of missing lines, and one for
                the position of the first of them.
            start: Position of the second line.
        """
        budget = _checked_budget(token_budget) - _NOTE_TOKENS
        shown = [self._cut(lines[0], budget)]
        tokens = self._count(shown[0])
        for line in lines[1:]:
            room = budget - tokens - 1
            tokens += self._count(line) + 1
            if tokens > budget:
                if len(shown) == 1:  # otherwise the rest would begin with this line again
                    shown.append(self._cut(line, max(room, 0)))
                break
            shown.append(line)
        if len(shown) < len(lines):
            shown.append(rest.format(len(lines) - len(shown), start + len(shown) - 1) + ".")
        return "\n".join(shown)

    def _document_line(self, name: str, record: DocumentRecord) -> str:
        """Return id, title, length and metadata of a document in one line."""
        size = counted(record.pages, "page") if record.pages else f"{record.chars} characters"
        fields = ", ".join(f"{key}={_value(value)}" for key, value in record.metadata.items())
        place = f"{name}: " if len(self.scope.names()) > 1 else ""
        title = "" if record.title == record.id else f" | {_line(record.title)}"
        return f"{place}{record.id}{title} | {size}" + (f" | {_line(fields)}" if fields else "")


def _result_text(result: SearchResult | ExcerptResult) -> str:
    """Return the warnings and the context of a result, with the place of a text without header."""
    notes = [f"Note: {warning}." for warning in result.warnings]
    parts = result.excerpts if isinstance(result, ExcerptResult) else result.segments
    notes += [
        f'Text of document="{_line(at.document_id)}" characters="{at.start}-{at.end}":'
        for at in (part.citation for part in parts if not part.header)
    ]
    if result.weak_evidence and result.context:
        notes.append("Note: weak evidence; the documents may not answer this question.")
    if not result.context:
        notes.append("Nothing was found. Try other words, or `list_documents`.")
    return "\n".join([*notes, *([result.context] if result.context else [])])


def _answer_lines(answer: Answer) -> list[str]:
    """Return an answer with its quotes and warnings."""
    lines = [answer.text, ""]
    for cited in answer.citations:
        place = str(cited.citation) if cited.citation is not None else "not found in the documents"
        lines.append(f'{cited.mark} {place}: "{_line(cited.quote)}"')
    lines += [f"Calculation: {calculation}" for calculation in answer.calculations]
    lines += [f"Assumed: {answer.assumed}"] if answer.assumed else []
    lines += [f"Conflict: {conflict}" for conflict in answer.conflicts]
    return [*lines, *(f"Note: {warning}." for warning in answer.warnings)]


def _listed(texts: Iterable[str]) -> list[str]:
    """Return the first texts of a list, and the number of the others."""
    listed = list(texts)
    rest = len(listed) - _LISTED
    return [*listed[:_LISTED], f"and {rest:,} more"] if rest > 0 else listed


def _tree(sections: Sequence[Section], pages: Sequence[str]) -> Iterator[str]:
    """Yield one line per section, indented by depth; enclosing headings without a number."""
    shown: tuple[str, ...] = ()
    for number, (section, place) in enumerate(zip(sections, pages, strict=True), 1):
        parents = section.path[:-1]
        for depth, parent in enumerate(parents):
            if parents[: depth + 1] != shown[: depth + 1]:
                yield f"{'  ' * depth}- {_line(parent)}"
        shown = section.path
        length = f"{section.end - section.start} characters"
        yield f"{'  ' * len(parents)}[{number}] {_line(section.title)} ({place or length})"


def _pages(pages: Sequence[Page], start: int, end: int) -> str:
    """Return the pages of a range in words, counted from 1; empty without pages."""
    first = bisect_right(pages, start, key=lambda page: page.end) + 1
    last = bisect_left(pages, end, key=lambda page: page.start)
    if last < first:
        return ""
    return f"page {first}" if first == last else f"pages {first}-{last}"


def _section_range(sections: Sequence[Section], number: int) -> tuple[int, int]:
    if not 1 <= number <= len(sections):
        raise OptionError(f"section is {number}; `outline` shows 1 to {len(sections)}")
    section = sections[number - 1]
    return section.start, section.end


def _page_range(pages: str, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the range of "12" or "12-14", counted from 1."""
    first, _, last = pages.replace("–", "-").partition("-")
    if not all(_PAGE.fullmatch(part.strip()) for part in (first, last or first)):
        raise OptionError(f"pages is {pages[:40]!r}; write 12 or 12-14")
    begin, end = int(first), int(last or first)
    if not ranges:
        raise OptionError(
            f"pages is {pages[:40]!r}, and the document has no pages; give section or start"
        )
    if not 1 <= begin <= end <= len(ranges):
        raise OptionError(f"pages is {pages!r}; the document has the pages 1 to {len(ranges)}")
    return ranges[begin - 1][0], ranges[end - 1][1]


def _checked_budget(tokens: int) -> int:
    if not MIN_BUDGET <= tokens <= MAX_BUDGET:
        raise OptionError(f"token_budget is {tokens}; give {MIN_BUDGET} to {MAX_BUDGET:,} tokens")
    return tokens


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _line(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


def _attribute(text: str) -> str:
    return _line(text).replace('"', "'").replace("<", "‹").replace(">", "›")
