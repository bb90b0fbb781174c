"""Token counts of chunks, headers and segments, from stored counts where possible.

Chunks and headers are counted when they are stored, headers with the widest possible citation. A
joined text has at most as many tokens as its parts, except where a tokenizer merges differently
over a seam; `TokenCounter.seams` counts the cases that matter. The others (such as a blank line
before "/") cost one token in about ten thousand seams, less than the reserve in the citations.
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
    """Token counts for one tokenizer."""

    tokenizer: Tokenizer | None
    """Tokenizer of the reader; None if the stored counts are of the same tokenizer."""
    separator_tokens: int = 1
    """Tokens of the blank line between two segments."""
    copies_tokens: int = 8
    """Maximum tokens of the attribute that counts near-duplicates in the opening tag."""
    longer_tag_tokens: int = 4
    """Maximum tokens of a number in the opening and closing tag."""
    reader: str = ""
    """Name of the tokenizer, for texts without stored counts."""

    def chunks(
        self,
        tokens: NDArray[np.int64],
        chars: NDArray[np.int64],
        ranges: Sequence[PassageRange],
        snapshot: Snapshot,
    ) -> NDArray[np.int64]:
        """Return the tokens of each chunk of some ranges, given stored tokens and characters."""
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
        """Return the maximum number of additional tokens of the texts when they are joined.

        The last of several blanks is a token of its own if a sign or digit follows, and no token at
        the end of a text.
        """
        if isinstance(self.tokenizer, CharacterTokenizer):
            return 0
        return sum(_BLANKS.search(text) is not None for text in texts[:-1])

    def text(self, text: str) -> int:
        """Return the tokens of a text; loads the vocabulary if counts are stored."""
        return (self.tokenizer or make_tokenizer(self.reader)).count([text])[0]

    def header(self, section: Section, frame: Callable[[], Sequence[str]]) -> int:
        """Return the tokens of a segment under a section besides its text."""
        if self.tokenizer is None:
            return section.header_tokens
        return sum(self.tokenizer.count(frame()))


def make_token_counter(requested: str | None, stored: str) -> TokenCounter:
    """Return the token counter of a reader, given the tokenizer of the knowledge base.

    Raises:
        OptionError: If there is no such tokenizer.
    """
    if requested is None or requested == stored:
        return TokenCounter(None, *_fixed_tokens(stored), reader=stored)
    tokenizer = make_tokenizer(requested)
    name = tokenizer.name
    return TokenCounter(None if name == stored else tokenizer, *_fixed_tokens(name), reader=name)


def _fixed_tokens(name: str) -> tuple[int, int, int]:
    """Return the constant token counts of a tokenizer, without loading a vocabulary."""
    if not name.startswith("chars:"):
        return 1, 8, 4
    separator, copies, longer_tag = make_tokenizer(name).count([SEPARATOR, _COPIES, _LONGER_TAG])
    return separator, copies, longer_tag
