"""Methods that can be compared, and the syntax of their names.

A name is "METHOD[:PRESET][+headers][+rerank][+tuned]", such as "exact:precise+headers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, cast

from spanwise.errors import OptionError
from spanwise.options import METHOD_PRESETS

if TYPE_CHECKING:
    from collections.abc import Sequence


Way = Literal["bm25", "top-k", "sentence-window", "parent-document", "greedy", "exact", "excerpts"]

METHODS: Mapping[Way, str] = {
    "bm25": "best chunks by BM25",
    "top-k": "best chunks by relevance, one by one",
    "sentence-window": "best sentences by embedding, each with three sentences on both sides",
    "parent-document": "best pieces by embedding, shown as the 2,000 characters they stand in",
    "greedy": "segments chosen greedily while tokens are left; with a preset as published",
    "exact": "segments chosen exactly: what `search` returns",
    "excerpts": "texts of about 1,000 tokens around segments: what `excerpts` returns",
}
"""Methods that can be compared, by name, in words."""

ADDITIONS: Mapping[str, str] = {
    "headers": "titles, names of files and headings take part in search",
    "rerank": "a reranker reads the best that was found",
    "tuned": "with the settings of a tuning file",
}
"""Additions to a method after "+", in words."""

_TUNABLE = ("top-k", "exact", "excerpts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A parsed name of a method."""

    way: Way
    preset: str | None = None
    """Preset of "exact" or "greedy"; None for the balanced one, without its minimum if greedy."""
    headers: bool = False
    rerank: bool = False
    tuned: bool = False

    @property
    def name(self) -> str:
        """Return the canonical name."""
        preset = "" if self.preset is None else f":{self.preset}"
        added = [f"+{addition}" for addition in ADDITIONS if getattr(self, addition)]
        return f"{self.way}{preset}{''.join(added)}"


def is_method_name(text: str) -> bool:
    """Return whether a text begins with the name of a method."""
    return _parts(text)[0] in METHODS


def read_method(text: str) -> Method:
    """Return the method of a name.

    Raises:
        OptionError: If there is no such method, preset or addition.
    """
    way, preset, added = _parts(text)
    if way not in METHODS:
        raise OptionError(
            f"method is {text!r}; {_meant(way, tuple(METHODS))}. A function of your own is named "
            '"module:function"'
        )
    presets = METHOD_PRESETS.get(way, ())
    if preset is not None and preset not in presets:
        known = _meant(preset, presets) if presets else f"{way!r} has no presets"
        raise OptionError(f"method is {text!r}; {known}")
    for addition in added:
        if addition not in ADDITIONS:
            raise OptionError(f"method is {text!r}; after a + {_meant(addition, tuple(ADDITIONS))}")
    if "tuned" in added and way not in _TUNABLE:
        raise OptionError(
            f"method is {text!r}; a tuning file changes nothing of it, but of {', '.join(_TUNABLE)}"
        )
    return Method(
        way=cast("Way", way),
        preset=preset,
        headers="headers" in added,
        rerank="rerank" in added,
        tuned="tuned" in added,
    )


def _parts(text: str) -> tuple[str, str | None, list[str]]:
    """Return method, preset and additions of a name."""
    head, *added = text.strip().split("+")
    way, colon, preset = head.partition(":")
    return way, preset if colon else None, added


def _meant(given: str, known: Sequence[str]) -> str:
    """Return the suggestion and the list of names for an error message."""
    near = get_close_matches(given, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}it must be one of {', '.join(known)}"
