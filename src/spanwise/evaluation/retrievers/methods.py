"""Methods that can be compared, and the syntax of their names.

The syntax is "METHOD[:PRESET][+headers][+rerank][+tuned]", as in "exact:precise+headers".
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
    "parent-document": "best pieces by embedding, each extended to its block of 2,000 characters",
    "greedy": "segments selected greedily until the budget is full; with a preset, as published",
    "exact": "segments selected exactly, like `search`",
    "excerpts": "texts of about 1,000 tokens around segments, like `excerpts`",
}
"""Description of each method, by name."""

ADDITIONS: Mapping[str, str] = {
    "headers": "titles, file names and headings are searched too",
    "rerank": "a reranker scores the best candidates",
    "tuned": "with the settings of a tuning file",
}
"""Description of each addition that may follow a method after "+"."""

_TUNABLE = ("top-k", "exact", "excerpts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Parsed name of a method."""

    way: Way
    preset: str | None = None
    """Preset of "exact" or "greedy"; None for the default."""
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
    """Return whether the part of a name before ":" and "+" is a known method."""
    return _parts(text)[0] in METHODS


def read_method(text: str) -> Method:
    """Return the parsed form of a method name.

    Raises:
        OptionError: If the method, preset or addition is unknown.
    """
    way, preset, added = _parts(text)
    if way not in METHODS:
        raise OptionError(
            f"method is {text!r}; {_meant(way, tuple(METHODS))}. Name a function of your own as "
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
        raise OptionError(f"method is {text!r}; a tuning file only affects {', '.join(_TUNABLE)}")
    return Method(
        way=cast("Way", way),
        preset=preset,
        headers="headers" in added,
        rerank="rerank" in added,
        tuned="tuned" in added,
    )


def _parts(text: str) -> tuple[str, str | None, list[str]]:
    """Return the method, the preset (None if absent) and the additions of a name."""
    head, *added = text.strip().split("+")
    way, colon, preset = head.partition(":")
    return way, preset if colon else None, added


def _meant(given: str, known: Sequence[str]) -> str:
    """Return the end of an error message: a similar name, if any, and all names."""
    near = get_close_matches(given, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}it must be one of {', '.join(known)}"
