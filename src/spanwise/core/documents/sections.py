"""Division of a document into sections without a model: by headings, then by topic.

Rules:
    The sections of a document, joined, are its text; an empty text has none.
    A section goes from one heading to the next; text before the first heading is a section too.
    A section that is too short (a heading and little text) is merged into the next one, if the next
    one is its child or its sibling.
    A section that is too long is cut where its topic changes; each part gets a title extracted
    from its own words, under the title of the section. A part whose title would repeat a title of
    the path keeps the title of the section.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from spanwise.core.documents.outlines import DocumentKind, document_headings
from spanwise.core.documents.summary import clip, extract_title
from spanwise.core.documents.topics import Embed, topic_cuts
from spanwise.options import SectionOptions
from spanwise.types import Document, Heading, Section

_MAX_DEPTH = 8  # titles in a path; deeper headings become siblings
_TITLE_CHARS = 120
_WORD = re.compile(r"[^\W_]+")
_ALONE_CHARS = 200  # a shorter section is merged into the next one


class _Outline(NamedTuple):
    """Range under one heading, before long ranges are cut."""

    start: int
    end: int
    path: tuple[str, ...]
    """Titles from the outermost heading down; empty before the first heading."""


def split_sections(
    document: Document,
    *,
    options: SectionOptions | None = None,
    embed: Embed | None = None,
    kinds: Sequence[DocumentKind] = (),
) -> tuple[Section, ...]:
    """Return the sections of a document, in order; joined, they are its text.

    Args:
        document: The document; if it has no headings, they are detected in the text.
        options: Minimum and maximum length; None for the defaults.
        embed: Embedding function to detect changes of topic; None for term counts, which are as
            good and faster.
        kinds: Rules for kinds of documents, in order of precedence.

    Returns:
        Non-empty sections; none longer than `options.max_chars`, except for characters that cannot
        be split. A title is empty if its section has no word. Empty for an empty text.

    Raises:
        OptionError: If the headings are not in order or not inside the text.
    """
    text = document.text
    if not text:
        return ()
    options = options or SectionOptions()
    outlines = _outlines(text, document_headings(document, kinds=kinds))
    outlines = _merge_short(outlines, lambda path, child: child[: len(path)] == path)
    outlines = _merge_short(outlines, lambda path, sibling: sibling[:-1] == path[:-1])
    sections: list[Section] = []
    for outline in outlines:
        start, end, path = outline
        sections += cut_long(
            document, start=start, end=end, path=path, options=options, embed=embed
        )
    return tuple(sections)


def cut_long(
    document: Document,
    *,
    start: int,
    end: int,
    path: tuple[str, ...],
    options: SectionOptions,
    embed: Embed | None = None,
) -> list[Section]:
    """Return the sections of a range: one, or several cut by topic if it is too long.

    Args:
        document: The document.
        start: Offset of the first character.
        end: Offset after the last character.
        path: Titles of the range; if empty, a title is extracted from its words.
        options: Maximum length of a section, minimum length of a part.
        embed: Embedding function to detect changes of topic; None for term counts.

    Returns:
        Sections that partition the range. If it is cut, each part has an extracted title under the
        path.
    """
    blocks = document.blocks
    first = max(0, bisect_right(blocks, start, key=lambda block: block.start) - 1)
    last = bisect_left(blocks, end, key=lambda block: block.start)
    text = document.text
    cuts = topic_cuts(
        text, start=start, stop=end, options=options, blocks=blocks[first:last], embed=embed
    )
    sections = []
    for begin, stop in pairwise([start, *cuts, end]):
        full = path
        if cuts or not path:
            full = extended_path(path, extract_title(text, start=begin, stop=stop))
        sections.append(
            Section(
                start=begin,
                end=stop,
                title=full[-1],
                path=full,
                extracted_title=full != path,
            )
        )
    return sections


def extended_path(path: tuple[str, ...], title: str) -> tuple[str, ...]:
    """Return a path with a title at its end, unless the path contains an equal title.

    Titles are equal if they differ only in case and in characters other than letters and digits.
    """
    words = _WORD.findall(title.casefold())
    repeats = words and any(words == _WORD.findall(other.casefold()) for other in path)
    return path if repeats else (*path, title)


def _outlines(text: str, headings: Sequence[Heading]) -> list[_Outline]:
    """Return the non-empty ranges between headings with their paths."""
    outlines: list[_Outline] = []
    levels: list[int] = []
    path: list[str] = []
    start = 0
    for heading in headings:
        if heading.start > start:
            outlines.append(_Outline(start, heading.start, tuple(path)))
        start = heading.start
        while levels and (levels[-1] >= heading.level or len(levels) >= _MAX_DEPTH):
            levels.pop()
            path.pop()
        levels.append(heading.level)
        path.append(clip(heading.title, max_chars=_TITLE_CHARS))
    if start < len(text):
        outlines.append(_Outline(start, len(text), tuple(path)))
    return outlines


def _merge_short(
    outlines: Sequence[_Outline], belongs: Callable[[tuple[str, ...], tuple[str, ...]], bool]
) -> list[_Outline]:
    """Return outlines with each short one merged into the next, if `belongs` accepts both paths."""
    merged: list[_Outline] = []
    joined: list[_Outline] = []
    for outline in outlines:
        if joined and not (
            joined[-1].end - joined[0].start < _ALONE_CHARS
            and belongs(joined[-1].path, outline.path)
        ):
            merged.append(_join(joined))
            joined = []
        joined.append(outline)
    merged.append(_join(joined))
    return merged


def _join(joined: Sequence[_Outline]) -> _Outline:
    """Return consecutive outlines as one.

    The path is the last path if all others are prefixes of it. Otherwise it is the shared path with
    the joined titles.
    """
    paths = [outline.path for outline in joined if outline.path]
    path = paths[-1] if paths else ()
    if any(path[: len(other)] != other for other in paths):
        shared = _shared_path(paths)
        titles = dict.fromkeys(other[-1] for other in paths)
        path = (*shared, clip(" / ".join(titles), max_chars=_TITLE_CHARS))
    return _Outline(joined[0].start, joined[-1].end, path)


def _shared_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common prefix of all paths without their last titles."""
    shared = paths[0][:-1]
    for path in paths[1:]:
        same = 0
        while same < min(len(shared), len(path) - 1) and shared[same] == path[same]:
            same += 1
        shared = shared[:same]
    return shared
