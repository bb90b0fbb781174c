"""Sections of a document from a language model that reads its numbered lines.

Rules:
    The document is divided into windows of lines, which are sent concurrently. Then one request for
    each seam (the place where two windows meet) decides whether a section continues across it.
    These requests are sent concurrently too.
    A window without a usable answer gets the sections that were found without a model. A seam
    without a usable answer remains a boundary between two sections. Both cause a warning.
    Text, headings and title of the document are fenced as data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from pydantic import BaseModel

from spanwise.core.answers.citations import page_numbers
from spanwise.core.documents.model_sections import (
    NumberedLines,
    Outline,
    Stretch,
    clean_title,
    decide_seam,
    find_stretches,
    make_outline,
    number_lines,
    read_starts,
    settle_starts,
    split_windows,
    titled_sections,
)
from spanwise.core.documents.summary import clip
from spanwise.core.text.fences import fenced
from spanwise.errors import ModelError
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.types import Citation

if TYPE_CHECKING:
    from spanwise.options import SectionOptions
    from spanwise.types import Document, Heading, Section


_ALONE_CHARS = 200  # shorter sections are merged with a neighbour
_OUTPUT_TOKENS = 200  # maximum of an answer, plus the tokens of each section
_SECTION_OUTPUT_TOKENS = 40
_MORE_SECTIONS = 5  # allowance for short sections in an answer, which are merged later
_NO_TITLE = "Further text"
_NAMED = 5  # maximum number of ranges in a warning
_CAUSE_CHARS = 300

_FORM = """\
Answer in JSON: {"sections": [{"first_line": 1, "title": "..."}, {"first_line": 9, "title": "..."}]}
`first_line` is the number of the line that a section begins with; it goes on to the line before \
the next one. Name the sections in order, the first one with line 1.
A heading belongs to the section below it: the section begins with the line of the heading. A \
table belongs to the text that tells of it.
A title says in at most ten words what the section tells, and of whom, what or when, such that it \
is told apart from other sections of the document. Take the heading where it says so. No line \
numbers, no quotation marks, no comment."""
_WINDOW_INSTRUCTIONS = (
    "You divide a document into sections. A section is a run of lines about one topic that a "
    "reader would look up by itself. You see a part of the document between <lines> and </lines>, "
    "where each line begins with its number in brackets. A new section begins where the topic "
    "changes, not with each paragraph.\n" + _FORM
)
_SEAM_INSTRUCTIONS = (
    "You divide a document into sections. A section is a run of lines about one topic that a "
    "reader would look up by itself. The document was divided in parts, each without a look at "
    "the others. You see the lines around the place where two parts meet, between <lines> and "
    "</lines>, where each line begins with its number in brackets. Decide whether one topic goes "
    "on over that place: then one section holds the lines on both sides of it. Otherwise say with "
    "which line the next topic begins.\n" + _FORM
)


class _NamedSection(BaseModel):
    first_line: int
    title: str


class _Form(BaseModel):
    sections: list[_NamedSection]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSections:
    """Sections that a model found in a document."""

    sections: tuple[Section, ...]
    """Sections in order, which partition the text."""
    warnings: tuple[str, ...]
    """Messages about ranges without a usable answer, without the name of the document."""
    errors: tuple[ModelError, ...]
    """Errors of the failed requests."""
    is_answered: bool
    """Whether any answer of the model was usable."""


def make_sections(
    document: Document,
    *,
    title: str,
    headings: Sequence[Heading],
    context: PromptContext,
    limits: SectionOptions,
    fallback: Sequence[Section],
) -> ModelSections:
    """Return the sections of a document.

    Args:
        document: The document.
        title: Title of the document.
        headings: Headings of the document, ordered by start.
        context: Caller, options and language of the prompts.
        limits: Length limits of sections.
        fallback: Sections found without a model, for windows without a usable answer.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelKeyError: If the provider refuses the key.
    """
    if not document.text.strip():
        return ModelSections(sections=tuple(fallback), warnings=(), errors=(), is_answered=False)
    sectioning = _Sectioning(
        document=document,
        title=title,
        lines=number_lines(document, headings=headings, min_chars=limits.min_chars),
        outline=make_outline(document.text, headings),
        limits=limits,
        context=context,
        fallback=fallback,
    )
    return sectioning.make()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sectioning:
    """Division of one document into sections, with the data that all requests use."""

    document: Document
    title: str
    lines: NumberedLines
    outline: Outline
    limits: SectionOptions
    context: PromptContext
    fallback: Sequence[Section]

    def make(self) -> ModelSections:
        """Request the sections of the windows, then of the seams, and join the answers."""
        lines, context = self.lines, self.context
        tokens = context.count_tokens(lines.shown)
        windows = split_windows(tokens, parts=lines.parts, limit=context.options.window_tokens)
        answers = self._request_all([self._window_request(window) for window in windows], windows)
        titles = [None if isinstance(answer, ModelError) else answer for answer in answers]
        starts = {line: title for answer in titles if answer for line, title in answer.items()}
        stretches = find_stretches(
            windows, titles, lines=lines, tokens=tokens, min_chars=self.limits.min_chars
        )
        seams = [stretch.lines for stretch in stretches]
        decisions = self._request_all(
            [self._seam_request(stretch, starts) for stretch in stretches], seams
        )
        for stretch, decision in zip(stretches, decisions, strict=True):
            if not isinstance(decision, ModelError):
                starts = decide_seam(starts, stretch, decision)
        boundary_kept = "keep a boundary where two windows of the model meet"
        return ModelSections(
            sections=tuple(self._joined(windows, titles, starts)),
            warnings=(
                *self._warnings(windows, answers, "are divided without the model"),
                *self._warnings(seams, decisions, boundary_kept),
            ),
            errors=tuple(item for item in (*answers, *decisions) if isinstance(item, ModelError)),
            is_answered=bool(starts),
        )

    def _request_all(
        self, requests: Sequence[ModelRequest], windows: Sequence[range]
    ) -> list[dict[int, str] | ModelError]:
        """Return the titles of the sections in each range of lines, by their first line."""
        return self.context.caller.call_all(
            requests, read=lambda at, answer: _read(answer, lines=self.lines, window=windows[at])
        )

    def _window_request(self, window: range) -> ModelRequest:
        first, stop = self.lines.bounds[window.start], self.lines.bounds[window.stop]
        return self._request(
            window,
            task="sections",
            instructions=_WINDOW_INSTRUCTIONS,
            question=f"Into which sections are the lines 1 to {len(window)} divided?",
            typical={
                self.lines.line_at(max(first, section.start)): section.title
                for section in self.fallback
                if section.start < stop and section.end > first
            },
        )

    def _seam_request(self, stretch: Stretch, starts: Mapping[int, str]) -> ModelRequest:
        window, line = stretch.lines, stretch.seam - stretch.lines.start + 1
        return self._request(
            window,
            task="section seams",
            instructions=_SEAM_INSTRUCTIONS,
            question=f"The parts meet before line {line}. Does the topic of line {line - 1} go on "
            f"in line {line}? Into which sections are the lines 1 to {len(window)} divided?",
            typical={line: starts[line] for line in window if line in starts},
        )

    def _request(
        self,
        window: range,
        *,
        task: str,
        instructions: str,
        question: str,
        typical: Mapping[int, str],
    ) -> ModelRequest:
        text = self.lines.numbered(window)
        start = self.lines.bounds[window.start]
        place = " > ".join(dict.fromkeys([self.title, *self.outline.path(start, start)]))
        chars = self.lines.chars(window.start, window.stop)
        most_sections = min(len(window), _MORE_SECTIONS + chars // _ALONE_CHARS)
        options = self.context.options
        return ModelRequest(
            task=task,
            instructions=self.context.instructions(instructions, guidance=options.section_guidance),
            prompt=f"{fenced(place, name='place', beside=[text])}\n"
            f"{fenced(text, name='lines', beside=[place])}\n{self._usual_length()}{question}",
            answer=_Form,
            max_output_tokens=_OUTPUT_TOKENS + _SECTION_OUTPUT_TOKENS * most_sections,
            typical=_form(typical, lines=self.lines, window=window),
        )

    def _usual_length(self) -> str:
        """Return a sentence for the prompt about the usual length of a section, in lines."""
        line_chars = len(self.document.text) / len(self.lines.shown)
        least = max(1, round(self.limits.min_chars / line_chars))
        most = max(least + 1, round(self.limits.max_chars / 2 / line_chars))
        return f"Most sections of this document are {least} to {most} lines long.\n"

    def _joined(
        self,
        windows: Sequence[range],
        titles: Sequence[Mapping[int, str] | None],
        starts: Mapping[int, str],
    ) -> list[Section]:
        """Return the sections of all windows, in order; `titles` are None for failed windows."""
        lines = self.lines
        sections: list[Section] = []
        pairs = zip(windows, titles, strict=True)
        for is_answered, group in groupby(pairs, key=lambda pair: pair[1] is not None):
            run = [window for window, _ in group]
            first, stop = run[0].start, run[-1].stop
            if not is_answered:
                sections += _clipped(self.fallback, lines.bounds[first], lines.bounds[stop])
                continue
            settled = settle_starts(
                {line: title for line, title in starts.items() if first <= line < stop},
                lines=lines,
                stop=stop,
                min_chars=min(_ALONE_CHARS, self.limits.min_chars),
            )
            sections += titled_sections(
                self.document,
                settled,
                stop=stop,
                lines=lines,
                outline=self.outline,
                limits=self.limits,
            )
        return sections

    def _warnings(
        self, windows: Sequence[range], answers: Sequence[object], consequence: str
    ) -> list[str]:
        """Return one warning per cause, with the ranges of lines without a usable answer."""
        failed: dict[str, list[str]] = {}
        for window, answer in zip(windows, answers, strict=True):
            if isinstance(answer, ModelError):
                cause = clip(str(answer), max_chars=_CAUSE_CHARS)
                failed.setdefault(cause, []).append(self._place(window))
        warnings = []
        for cause, places in failed.items():
            more = f" and {len(places) - _NAMED} more ranges" if len(places) > _NAMED else ""
            warnings.append(f"{'; '.join(places[:_NAMED])}{more} {consequence}: {cause}")
        return warnings

    def _place(self, window: range) -> str:
        """Return the pages and characters of a range of lines, for a warning."""
        start, end = self.lines.bounds[window.start], self.lines.bounds[window.stop]
        document = self.document
        pages = page_numbers(document.pages, start, end)
        return Citation(document_id=document.id, title="", start=start, end=end, pages=pages).place


def _form(starts: Mapping[int, str], *, lines: NumberedLines, window: range) -> str:
    """Return the JSON of a typical answer with these sections."""
    named = {window.start: "", **starts}
    return _Form(
        sections=[
            _NamedSection(
                first_line=line - window.start + 1,
                title=clean_title(title, first_line=lines.shown[line]) or _NO_TITLE,
            )
            for line, title in sorted(named.items())
        ]
    ).model_dump_json()


def _read(answer: str, *, lines: NumberedLines, window: range) -> dict[int, str]:
    """Return the titles of the sections in an answer, by their first line.

    Raises:
        ValueError: If the answer does not match the schema, or has no section in the window.
    """
    named = [
        (section.first_line, section.title)
        for section in _Form.model_validate_json(answer).sections
    ]
    starts = read_starts(named, lines=lines, window=window)
    if not any(starts.values()):
        raise ValueError(
            f"no section has a title and begins with one of the lines 1 to {len(window)}"
        )
    return starts


def _clipped(sections: Sequence[Section], start: int, end: int) -> list[Section]:
    """Return the sections that overlap a range, clipped to the range."""
    return [
        replace(section, start=max(section.start, start), end=min(section.end, end))
        for section in sections
        if section.start < end and section.end > start
    ]
