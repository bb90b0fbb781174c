"""Offline tokenizers: OpenAI's vocabularies, and an estimate by the number of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

from spanwise.errors import OptionError

if TYPE_CHECKING:
    from types import ModuleType

    from spanwise.models.ports import Tokenizer


TOKENIZERS = ("o200k_base", "cl100k_base")
"""Names of the vocabularies."""

_MODELS = {
    "gpt-5": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-4o": "o200k_base",
    "o1": "o200k_base",
    "o3": "o200k_base",
    "o4-mini": "o200k_base",
    "gpt-4": "cl100k_base",
    "gpt-3.5-turbo": "cl100k_base",
}
_CHARACTERS = re.compile(r"chars:(\d+(?:\.\d+)?)")
_MAX_CHARS_PER_CALL = 50_000  # the library rejects longer texts; a word may be split here


class CharacterTokenizer:
    """Tokenizer that estimates the number of tokens from the number of characters, rounded up."""

    def __init__(self, chars: float) -> None:
        """Create the tokenizer.

        Args:
            chars: Number of characters per token, at least 1.

        Raises:
            OptionError: If `chars` is less than 1.
        """
        if chars < 1:
            raise OptionError(f"tokenizer is 'chars:{chars:g}'; a token has at least 1 character")
        self.chars = chars
        self.name = f"chars:{chars:g}"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.length(len(text)) for text in texts]

    def length(self, chars: int) -> int:
        """Return the number of tokens of a text with this number of characters."""
        return -int(-chars // self.chars)


class VocabularyTokenizer:
    """Tokenizer with one of OpenAI's vocabularies, from the package bpe-openai."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._count = _load_counter(name)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        count = self._count
        return [
            count(text)
            if len(text) <= _MAX_CHARS_PER_CALL
            else sum(
                count(text[start : start + _MAX_CHARS_PER_CALL])
                for start in range(0, len(text), _MAX_CHARS_PER_CALL)
            )
            for text in texts
        ]


def _load_counter(name: str) -> Callable[[str], int]:
    """Return the function that counts the tokens of a text with a vocabulary.

    The package itself decodes all vocabularies in Python when it is imported, which takes most of a
    second. Its compiled module contains them, and is loaded alone if it has the expected function.

    Raises:
        ImportError: If the package is not installed.
    """
    bindings = _load_bindings()
    if bindings is not None:
        count: Callable[[str], int] = bindings.tokenizer_for_encoding(name).count

        def count_any(text: str) -> int:
            try:
                return count(text)
            except UnicodeEncodeError:
                return count(_encodable(text))

        return count_any
    import bpe_openai

    encode = bpe_openai.get_encoding(name).encode_ordinary
    return lambda text: len(encode(text))


def _load_bindings() -> ModuleType | None:
    """Return the compiled module of bpe-openai; None if this version has another one."""
    package = find_spec("bpe_openai")
    if package is None or not package.submodule_search_locations:
        return None
    spec = PathFinder.find_spec("bpe_openai._bindings", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:
        return None
    has_count = hasattr(getattr(module, "PyTokenizer", None), "count")
    return module if has_count and hasattr(module, "tokenizer_for_encoding") else None


def _encodable(text: str) -> str:
    """Return a text with a replacement character for each lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(maxsize=8)
def make_tokenizer(name: str) -> Tokenizer:
    """Return a tokenizer by name, from a cache, because loading a vocabulary is slow.

    Args:
        name: Name of a vocabulary or of an OpenAI model, or "chars:4" for an estimate of one token
            per 4 characters.

    Raises:
        OptionError: If the name is unknown.
    """
    if not isinstance(name, str):
        raise OptionError(f'tokenizer is {name!r}; give a name, such as "o200k_base"')
    characters = _CHARACTERS.fullmatch(name)
    if characters is not None:
        return CharacterTokenizer(float(characters.group(1)))
    vocabulary = _MODELS.get(name, name)
    if vocabulary not in TOKENIZERS:
        known = ", ".join((*TOKENIZERS, "chars:4", *_MODELS))
        raise OptionError(f"tokenizer is {name!r}; it must be one of {known}")
    try:
        return VocabularyTokenizer(vocabulary)
    except ImportError as error:
        raise OptionError(
            f"tokenizer {name!r} needs the package bpe-openai: pip install bpe-openai, "
            "or count by 'chars:4'"
        ) from error
