"""How long things are for the reader, without loading a tokenizer where counts are known.

Chunks and headers were counted when they were stored, headers with the widest citation that may
stand in them. A whole takes at most as many tokens as its parts, but where a vocabulary reads on
over their seam: `Meter.seams` counts those that matter. What is left, such as a blank line before a
"/", costs a token in some ten thousand seams, less than the citations leave free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.render import SEPARATOR
from spanwise.models.providers.tokenizer import CharacterTokenizer, make_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import PassageRange
    from spanwise.models.ports import Tokenizer
    from spanwise.stores.port import Snapshot
    from spanwise.types import Section


_COPIES = ' also_in="1600 documents"'
_LONGER_TAG = "_99_99"
_BLANKS = re.compile(r"[ \t]{2}\Z")


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Lengths in tokens of one reader."""

    tokenizer: Tokenizer | None
    """None where the stored counts are those of this reader."""
    separator_tokens: int = 1
    """Of the blank line between two segments."""
    copies_tokens: int = 8
    """Of what names copies in the line that opens a segment, at most."""
    longer_tag_tokens: int = 4
    """Of a number behind the tag where a segment opens and closes, at most."""
    reader: str = ""
    """Name of its tokenizer, for texts that were not counted when they were stored."""

    def chunks(
        self,
        tokens: NDArray[np.int64],
        chars: NDArray[np.int64],
        ranges: Sequence[PassageRange],
        snapshot: Snapshot,
    ) -> NDArray[np.int64]:
        """Return the length of each chunk of some ranges, given stored tokens and characters."""
        if self.tokenizer is None:
            return tokens
        if isinstance(self.tokenizer, CharacterTokenizer):
            return np.maximum(1, np.ceil(chars / self.tokenizer.chars).astype(np.int64))
        texts = [
            chunk.text
            for span in ranges
            for chunk in snapshot.chunks(span.handle, span.start, span.end)
        ]
        return np.maximum(1, np.array(self.tokenizer.count(texts), dtype=np.int64))

    def seams(self, texts: Sequence[str]) -> int:
        """Return how many tokens the texts, joined, may take beyond what they take one by one.

        The last of several blanks is a token of its own when a sign or digit follows it, and no
        token when nothing does.
        """
        if isinstance(self.tokenizer, CharacterTokenizer):
            return 0
        return sum(_BLANKS.search(text) is not None for text in texts[:-1])

    def text(self, text: str) -> int:
        """Return the length of a text; loads the vocabulary where counts are stored."""
        return (self.tokenizer or make_tokenizer(self.reader)).count([text])[0]

    def header(self, section: Section, frame: Callable[[], Sequence[str]]) -> int:
        """Return what a segment headed by a section costs besides its text."""
        if self.tokenizer is None:
            return section.header_tokens
        return sum(self.tokenizer.count(frame()))


def make_token_counter(asked: str | None, stored: str) -> TokenCounter:
    """Return the token_counter of the reader asked for, given the tokenizer of the knowledge base.

    Raises:
        OptionError: If there is no such tokenizer.
    """
    if asked is None or asked == stored:
        return TokenCounter(None, *_fixed_tokens(stored), reader=stored)
    tokenizer = make_tokenizer(asked)
    name = tokenizer.name
    return TokenCounter(None if name == stored else tokenizer, *_fixed_tokens(name), reader=name)


def _fixed_tokens(name: str) -> tuple[int, int, int]:
    """Return what a reader's `Meter` holds besides it; no vocabulary is loaded, they agree."""
    if not name.startswith("chars:"):
        return 1, 8, 4
    separator, copies, longer_tag = make_tokenizer(name).count([SEPARATOR, _COPIES, _LONGER_TAG])
    return separator, copies, longer_tag
