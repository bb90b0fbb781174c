"""Sections of a document from a language model that reads its numbered lines.

Rules:
    The document is divided into windows of lines, which are sent concurrently. Then one request for
    each seam (the place where two windows meet) decides whether a section continues across it.
    These requests are sent concurrently too.
    If summaries are wanted, the answers contain them: the text is not sent again. A section has the
    summary of the described range that it shares most text with.
    A window without a usable answer gets the sections that were found without a model. A seam
    without a usable answer remains a boundary between two sections. Both cause a warning.
    In a dry run, the answers have the most sections that are possible, and the text around a seam
    has its greatest length, so that no later step of the real run needs more.
    Text, headings and title of the document are fenced as data.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict

from spanwise.core.answers.citations import page_numbers
from spanwise.core.documents.model_sections import (
    NumberedLines,
    Outline,
    Stretch,
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
from spanwise.core.text.model_lines import model_line
from spanwise.errors import ModelError
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.models.prompts.summaries import SUMMARY_CHARS
from spanwise.types import Citation

if TYPE_CHECKING:
    from spanwise.options import SectionOptions
    from spanwise.types import Document, Heading, Section


_ALONE_CHARS = 200  # shorter sections are merged with a neighbour
_OUTPUT_TOKENS = 200  # maximum of an answer, plus the tokens of each section
_SECTION_OUTPUT_TOKENS = 40
_SUMMARY_OUTPUT_TOKENS = 60
_MORE_SECTIONS = 5  # allowance for short sections in an answer, which may be merged later
_NO_TITLE = "Further text"
_NAMED = 5  # maximum number of ranges in a warning
_CAUSE_CHARS = 300
_TYPICAL_SUMMARY = "This section is about: " + "revenue and costs of the company, " * 11

_SECTION = """\
You divide a document into sections. A section is a run of lines about one topic that a reader \
would look up by itself. """
_WINDOW = (
    _SECTION
    + """You see a part of the document between <lines> and </lines>, where each line begins with \
its number in brackets. A new section begins where the topic changes, not with each paragraph."""
)
_SEAM = (
    _SECTION
    + """The document was divided into parts, each without regard to the others. You see the lines \
around the place where two parts meet, between <lines> and </lines>, where each line begins with \
its number in brackets. Decide whether one topic goes on over that place: then one section holds \
the lines on both sides of it. Otherwise say with which line the next topic begins."""
)
_EXAMPLES = {
    False: """\
Answer in JSON: {"sections": [{"first_line": 1, "title": "..."}, {"first_line": 9, "title": "..."}]\
}""",
    True: """\
Answer in JSON: {"sections": [{"first_line": 1, "title": "...", "summary": "..."}, {"first_line": \
9, "title": "...", "summary": "..."}]}""",
}
_FORM = """
`first_line` is the number of the line that a section begins with; it goes on to the line before \
the next one. Name the sections in order, the first one with line 1.
A heading belongs to the section below it: the section begins with the line of the heading. A \
table belongs to the text that explains it.
A title says in at most ten words what the section is about, and whose, what or when, so that it \
differs from the titles of the other sections. Take the heading if it says so. No line \
numbers, no quotation marks, no comment."""
_SUMMARY = """
A summary is one sentence of at most 30 words that begins with "This section is about: ", in the \
language in which you write. It names the subject itself, with its people, companies, things and \
periods, and nothing that is not in the section."""


class _NamedSection(BaseModel):
    first_line: int
    title: str


class _Form(BaseModel):
    sections: list[_NamedSection]


class _DescribedSection(_NamedSection):
    summary: str = ""  # an answer without some of the summaries is usable


class _DescribedForm(BaseModel):
    model_config = ConfigDict(title="_Form")
    sections: list[_DescribedSection]


class _Described(NamedTuple):
    """Sections in the answer for a range of lines."""

    titles: dict[int, str]
    """Title of each section by its first line."""
    summaries: dict[range, str]
    """Summary of each described range of lines."""


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
        lines=number_lines(document, headings=headings, plain=fallback),
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

    @property
    def least_chars(self) -> int:
        """Minimum length of a section, except at headings."""
        least = self.limits.min_chars
        return min(max(_ALONE_CHARS, least // 2), least)

    @property
    def form(self) -> type[_Form] | type[_DescribedForm]:
        """Form of the answers."""
        return _DescribedForm if self.context.options.headers else _Form

    def make(self) -> ModelSections:
        """Request the sections of the windows, then of the seams, and join the answers."""
        lines, context = self.lines, self.context
        tokens = context.count_tokens(lines.shown)
        windows = split_windows(tokens, parts=lines.parts, limit=context.options.window_tokens)
        requests = [self._window_request(window) for window in windows]
        is_estimate = context.caller.is_dry_run and not all(map(context.caller.is_cached, requests))
        answers = self._request_all(requests, windows)
        found = [None if isinstance(answer, ModelError) else answer.titles for answer in answers]
        starts = {line: title for titles in found if titles for line, title in titles.items()}
        stretches = find_stretches(
            windows,
            [{window.start: ""} for window in windows] if is_estimate else found,
            lines=lines,
            tokens=tokens,
            min_chars=len(self.document.text) if is_estimate else self.limits.min_chars,
        )
        seams = [stretch.lines for stretch in stretches]
        decisions = self._request_all([self._seam_request(stretch) for stretch in stretches], seams)
        for stretch, decision in zip(stretches, decisions, strict=True):
            if not isinstance(decision, ModelError):
                starts = decide_seam(starts, stretch, decision.titles)
        if is_estimate:
            starts = self._most_sections(range(len(lines.shown)))
        starts = self._with_plain_titles(starts)
        usable = [item for item in (*answers, *decisions) if not isinstance(item, ModelError)]
        summaries = {part: text for item in usable for part, text in item.summaries.items()}
        boundary_kept = "keep a boundary where two windows of the model meet"
        return ModelSections(
            sections=tuple(self._summarised(self._joined(windows, found, starts), summaries)),
            warnings=(
                *self._warnings(windows, answers, "are divided without the model"),
                *self._warnings(seams, decisions, boundary_kept),
            ),
            errors=tuple(item for item in (*answers, *decisions) if isinstance(item, ModelError)),
            is_answered=bool(starts),
        )

    def _with_plain_titles(self, starts: Mapping[int, str]) -> dict[int, str]:
        """Return the sections; those that the model did not name get the title of their heading."""
        plain = {
            self.lines.line_at(section.start): section.title
            for section in self.fallback
            if not section.extracted_title
        }
        return {line: title or plain.get(line, "") for line, title in starts.items()}

    def _request_all(
        self, requests: Sequence[ModelRequest], windows: Sequence[range]
    ) -> list[_Described | ModelError]:
        """Return the sections in each range of lines."""
        return self.context.caller.call_all(
            requests, read=lambda at, answer: self._read(answer, window=windows[at])
        )

    def _window_request(self, window: range) -> ModelRequest:
        return self._request(
            window,
            task="sections",
            instructions=_WINDOW,
            question=f"{self._parts_of(window)}Into which sections are the lines 1 to "
            f"{len(window)} divided?",
        )

    def _seam_request(self, stretch: Stretch) -> ModelRequest:
        window, line = stretch.lines, stretch.seam - stretch.lines.start + 1
        return self._request(
            window,
            task="section seams",
            instructions=_SEAM,
            question=f"The parts meet before line {line}. Does the topic of line {line - 1} go on "
            f"in line {line}? Into which sections are the lines 1 to {len(window)} divided?",
        )

    def _request(
        self, window: range, *, task: str, instructions: str, question: str
    ) -> ModelRequest:
        text = self.lines.numbered(window)
        start = self.lines.bounds[window.start]
        place = " > ".join(dict.fromkeys([self.title, *self.outline.path(start, start)]))
        chars = self.lines.chars(window.start, window.stop)
        parts = sum(line in window for line in self.lines.parts)
        most_sections = min(len(window), parts + _MORE_SECTIONS + chars // self.limits.min_chars)
        options = self.context.options
        form = f"{instructions}\n{_EXAMPLES[options.headers]}{_FORM}"
        guidance = [options.section_guidance]
        if options.headers:
            form += _SUMMARY
            guidance.append(options.section_summary_guidance)
        return ModelRequest(
            task=task,
            instructions=self.context.instructions(
                form, guidance=" ".join(part.strip() for part in guidance if part.strip())
            ),
            prompt=f"{fenced(place, name='place', other_texts=[text])}\n"
            f"{fenced(text, name='lines', other_texts=[place])}\n{self._usual_length()}{question}",
            answer=self.form,
            max_output_tokens=_OUTPUT_TOKENS
            + (_SECTION_OUTPUT_TOKENS + _SUMMARY_OUTPUT_TOKENS * options.headers) * most_sections,
            typical=self._typical(window),
        )

    def _parts_of(self, window: range) -> str:
        """Return a sentence for the prompt about the lines of headings that begin sections."""
        numbers = [line - window.start + 1 for line in self.lines.parts if line in window]
        if numbers in ([], [1]):
            return ""
        listed = ", ".join(map(str, numbers))
        return f"Sections begin with the headings of the lines {listed}; others may follow them.\n"

    def _typical(self, window: range) -> str:
        """Return the JSON of an answer with as many sections as possible."""
        sections = [
            _DescribedSection(
                first_line=line - window.start + 1, title=title, summary=_TYPICAL_SUMMARY
            )
            for line, title in self._most_sections(window).items()
        ]
        return _DescribedForm(sections=sections).model_dump_json()

    def _most_sections(self, window: range) -> dict[int, str]:
        """Return the first lines and titles of as many sections as a range can have."""
        lines, first = self.lines, window.start
        titles = {}
        for line in window:
            is_long = lines.chars(first, line) >= self.least_chars
            if line == window.start or is_long or line in lines.parts:
                titles[line] = f"{_NO_TITLE} {line}"
                first = line
        return titles

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
                min_chars=self.least_chars,
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

    def _read(self, answer: str, *, window: range) -> _Described:
        """Return the sections in an answer.

        Raises:
            ValueError: If the answer does not match the schema, or has no section in the window.
        """
        named = self.form.model_validate_json(answer).sections
        titles = read_starts(
            [(section.first_line, section.title) for section in named],
            lines=self.lines,
            window=window,
        )
        if not any(titles.values()):
            raise ValueError(
                f"no section has a title and begins with one of the lines 1 to {len(window)}"
            )
        starts = {
            line: _summary(section)
            for section in named
            if (line := window.start + section.first_line - 1) in window
        }
        bounds = [*sorted(starts), window.stop]
        summaries = {
            range(first, stop): starts[first] for first, stop in pairwise(bounds) if starts[first]
        }
        return _Described(titles, summaries)

    def _summarised(
        self, sections: Sequence[Section], summaries: Mapping[range, str]
    ) -> list[Section]:
        """Return sections, each with the summary of the range that it shares most text with."""
        bounds = self.lines.bounds
        summarised = list(sections)
        shared = [0] * len(sections)
        starts = [section.start for section in sections]
        for part, summary in summaries.items():
            start, end = bounds[part.start], bounds[part.stop]
            first = max(0, bisect_right(starts, start) - 1)
            for at in range(first, bisect_left(starts, end)):
                chars = min(end, sections[at].end) - max(start, sections[at].start)
                if chars > 0 and chars >= shared[at]:
                    shared[at] = chars
                    summarised[at] = replace(sections[at], summary=summary)
        return summarised

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


def _summary(section: _NamedSection) -> str:
    """Return the summary of a section in an answer; empty if it has no usable one."""
    if not isinstance(section, _DescribedSection):
        return ""
    try:
        summary = clip(section.summary, max_chars=SUMMARY_CHARS)
        return model_line(summary, max_chars=SUMMARY_CHARS)
    except ValueError:
        return ""


def _clipped(sections: Sequence[Section], start: int, end: int) -> list[Section]:
    """Return the sections that overlap a range, clipped to the range."""
    return [
        replace(section, start=max(section.start, start), end=min(section.end, end))
        for section in sections
        if section.start < end and section.end > start
    ]
