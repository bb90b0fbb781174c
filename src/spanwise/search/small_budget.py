"""Results under a token budget that is too small for the best chunk with its header.

The best sentence of the chunk is returned, with the sentences after and before it that fit. The
header is left out if it does not fit together with the sentence. Of table rows that are too long
together, the best row is returned, with its neighbours that fit. A sentence that is too long is cut
after the last word that fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spanwise.errors import OptionError
from spanwise.search.trim import Trimmer, row_places, sentence_places

if TYPE_CHECKING:
    from spanwise.options import SegmentOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.extract import Extractor
    from spanwise.search.rendering import SegmentRange, SegmentRenderer
    from spanwise.types import Segment

_WORD_END = re.compile(r"\S(?=\s|\Z)")

Fits = Callable[[int, int], bool]
"""Function that returns whether a range of characters fits into the budget."""


class SmallBudgetError(OptionError):
    """No chunk fits into the budget with its header; the caller returns a part of the best one."""


class ChosenPart(NamedTuple):
    """Part of a chunk that is shown under a small budget."""

    start: int
    """First character."""
    end: int
    """Offset one past the last character."""
    is_cut: bool = False
    """Whether these are only the first words of a sentence."""


@dataclass(frozen=True, slots=True)
class SentenceChooser:
    """Chooses the part of a chunk that is shown under a small budget."""

    trimmer: Trimmer
    """Weights of the words of the question."""

    @classmethod
    def of(cls, evidence: Evidence, options: SegmentOptions) -> SentenceChooser:
        """Return the chooser for the queries of some evidence."""
        trimmer = Trimmer.of(evidence, replace(options, trim=True))
        assert trimmer is not None  # noqa: S101 - trimming is requested
        return cls(trimmer)

    def choose(self, text: str, *, language: str, fits: Fits, cuts_sentence: bool) -> ChosenPart:
        """Return the best sentence and the neighbours that fit; an empty part if nothing fits.

        Args:
            text: Text of the chunk.
            language: Language of the document.
            fits: Function that returns whether a range of the text fits.
            cuts_sentence: Whether a sentence that does not fit is cut after a word.
        """
        parts = _parts(text, sentence_places(text))
        if not parts:
            return ChosenPart(0, 0)
        best = self._best(text, parts, language)
        start, end = parts[best]
        if not fits(start, end):
            start = _after_heading(text, start, end)
        if not fits(start, end):
            parts = _parts(text, [start, *row_places(text, start, end), end])
            best = self._best(text, parts, language)
            start, end = parts[best]
        if not fits(start, end):
            words = _first_words(text, start, end, fits) if cuts_sentence else (0, 0)
            return ChosenPart(*words, is_cut=True)
        return _with_neighbours(parts, best, (start, end), fits)

    def _best(self, text: str, parts: Sequence[tuple[int, int]], language: str) -> int:
        """Return the index of the first part with most of the question's words."""
        coverages = [self.trimmer.coverage(text[start:end], language) for start, end in parts]
        return coverages.index(max(coverages))


def _parts(text: str, places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges between places without white space at their ends; no empty ones."""
    parts = [_stripped(text, *part) for part in pairwise(places)]
    return [(start, end) for start, end in parts if start < end]


def _with_neighbours(
    parts: Sequence[tuple[int, int]], best: int, chosen: tuple[int, int], fits: Fits
) -> ChosenPart:
    """Return a part with the parts after it, then those before it, as far as they fit."""
    start, end = chosen
    for _, later in parts[best + 1 :]:
        if not fits(start, later):
            break
        end = later
    for earlier, _ in reversed(parts[:best]):
        if not fits(earlier, end):
            break
        start = earlier
    return ChosenPart(start, end)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _after_heading(text: str, start: int, end: int) -> int:
    """Return the start of the last paragraph of a sentence, which may begin with a heading."""
    blank = text.rfind("\n\n", start, end)
    return start if blank < 0 else _stripped(text, blank, end)[0]


def _first_words(text: str, start: int, end: int, fits: Fits) -> tuple[int, int]:
    """Return the longest beginning of a sentence that fits and ends with a word; may be empty."""
    ends = [match.end() for match in _WORD_END.finditer(text, start, end)]
    low, high = 0, len(ends)
    while low < high:  # the number of words that fit
        middle = (low + high + 1) // 2
        if fits(start, ends[middle - 1]):
            low = middle
        else:
            high = middle - 1
    return (start, ends[low - 1]) if low else (0, 0)


class FixedRange(NamedTuple):
    """Trimmer of one segment to a known range of its text."""

    start: int
    """First character."""
    end: int
    """Offset one past the last character."""

    def sentence_range(self, run: SegmentRange, text: str, *, language: str) -> tuple[int, int]:
        """Return the range of characters to show."""
        del run, text, language  # the range was chosen before
        return self.start, self.end


def check_best_fits(extractor: Extractor, segments: Sequence[Segment]) -> None:
    """Raise an error if the best chunk is not shown because it does not fit into the budget.

    Raises:
        SmallBudgetError: If its best sentence is better than other chunks that fit.
    """
    best, renderer = extractor.guess(), replace(extractor.renderer, trimmer=None)
    document_id = renderer.documents.record(best.handle).id
    is_shown = any(
        segment.document_id == document_id
        and segment.first_chunk <= best.start < segment.last_chunk
        for segment in segments
    )
    budget = extractor.options.budget_tokens
    if not is_shown and renderer.segments([best])[0].tokens > budget:
        raise SmallBudgetError(f"budget_tokens is {budget}; the best chunk does not fit")


def cut_segment(extractor: Extractor) -> tuple[list[Segment], bool, str]:
    """Return the best chunk cut to the budget, whether it has a header, and a warning.

    Raises:
        OptionError: If not even one word fits.
    """
    budget, run = extractor.options.budget_tokens, extractor.guess()
    renderer = replace(extractor.renderer, trimmer=None)
    record = renderer.documents.record(run.handle)
    chunks = renderer.documents.snapshot.chunks(run.handle, run.start, run.end)
    text = "".join(chunk.text for chunk in chunks)
    chooser = SentenceChooser.of(extractor.evidence, extractor.options.segments)
    for has_header in dict.fromkeys((renderer.headers, False)):
        attempt = replace(renderer, headers=has_header)

        def fits(start: int, end: int, *, attempt: SegmentRenderer = attempt) -> bool:
            cut = replace(attempt, trimmer=FixedRange(start, end)).segments([run])
            return cut[0].tokens <= budget

        start, end, is_cut = chooser.choose(
            text, language=record.language, fits=fits, cuts_sentence=not has_header
        )
        if start < end:
            segments = replace(attempt, trimmer=FixedRange(start, end)).segments([run])
            shown = small_budget_warning(
                "the token budget", budget, has_header=has_header, is_cut=is_cut
            )
            return segments, has_header, shown
    raise OptionError(f"the token budget is {budget}; not even one word fits, give 10 or more")


def small_budget_warning(name: str, budget: int, *, has_header: bool, is_cut: bool) -> str:
    """Return a warning that a result was cut to its best sentences, or to words of the best one."""
    part = "only the first words of the best sentence are" if is_cut else "the best sentence is"
    header = "" if has_header else " without its header"
    return f"{name} is {budget}, too little for a chunk; {part} shown{header}"
