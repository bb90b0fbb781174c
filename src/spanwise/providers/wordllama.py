"""The static embedding model that comes inside the `wordllama` package, read from its files.

The package itself is never imported: it pulls a network client and configures the root logger.
Its two data files are all that is needed: a float16 matrix with a row for each token, and the
tokenizer. The vector of a text is the sum of the rows of its tokens.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import OptionError, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

__all__ = ["WordLlama", "find_wordllama"]

_MODEL = "l2-supercat-256"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_MAX_CACHED_WORDS = 400_000
_FEW_TEXTS = 32
_MAX_WORD_CHARS = 200  # the tokenizer's time grows with the square of a word's length


def find_wordllama() -> Path | None:
    """Return the folder of the installed package, or None where it is not installed."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


class WordLlama:
    """Static embedder: the vector of a text is the sum of its tokens' vectors.

    White space is not embedded: a text is its words, each tokenized by itself. No token of this
    vocabulary crosses a space, so that only runs of white space make a difference to tokenizing
    the whole text.
    """

    name = f"wordllama:{_MODEL}"
    version = "1"
    dimension = 256

    def __init__(self, folder: Path | None = None) -> None:
        """Map the weights and read the tokenizer.

        Args:
            folder: Folder of the package; found by itself when not given.

        Raises:
            StoreError: If the files are missing or are not the ones this class was made for.
        """
        folder = folder or find_wordllama()
        if folder is None:
            raise StoreError("the package `wordllama` is not installed: pip install wordllama")
        self._folder = folder
        self._rows = _read_weights(folder / _WEIGHTS)
        self._wide: NDArray[np.float32] | None = None
        self._tokenizer: Tokenizer | None = None
        self._words: dict[str, tuple[int, ...]] = {}

    @classmethod
    def of_model(cls, model: str) -> WordLlama:
        """Return the embedder of that model; an empty name is the one model there is.

        Raises:
            OptionError: If there is no such model.
        """
        if model not in ("", _MODEL):
            raise OptionError(f"embedder is 'wordllama:{model}'; it must be 'wordllama:{_MODEL}'")
        return cls()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, not normalised: the sums of token vectors, (n, 256)."""
        split = [text.split() for text in texts]
        self._learn({word for words in split for word in words})
        known = self._words
        ids: list[int] = []
        ends = np.empty(len(texts), dtype=np.int64)
        for position, words in enumerate(split):
            for word in words:
                ids += known[word]
            ends[position] = len(ids)
        return _sums(self._table(len(texts)), np.asarray(ids, dtype=np.int64), ends)

    def _table(self, texts: int) -> NDArray[np.floating]:
        """Return the rows, widened once where many are summed: float16 is slow to add."""
        if self._wide is None and texts > _FEW_TEXTS:
            self._wide = self._rows.astype(np.float32)
        return self._rows if self._wide is None else self._wide

    def _learn(self, words: set[str]) -> None:
        """Tokenize the words that are not known yet."""
        if len(self._words) > _MAX_CACHED_WORDS:
            self._words.clear()
        new = sorted(word for word in words if word not in self._words)
        if not new:
            return
        if self._tokenizer is None:
            self._tokenizer = _read_tokenizer(self._folder / _TOKENIZER)
        cut = [word[:_MAX_WORD_CHARS] for word in new]
        for word, encoding in zip(
            new, self._tokenizer.encode_batch_fast(cut, add_special_tokens=False), strict=True
        ):
            self._words[word] = tuple(encoding.ids)


def _sums(
    rows: NDArray[np.floating], ids: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the sums of `rows[ids]` over the runs that end at `ends`, (len(ends), dimension)."""
    starts = np.concatenate(([0], ends[:-1]))
    out = np.zeros((len(ends), rows.shape[1]), dtype=np.float32)
    filled = np.flatnonzero(ends > starts)
    if len(filled):
        out[filled] = np.add.reduceat(
            rows[ids].astype(np.float32, copy=False), starts[filled], axis=0
        )
    return out


@lru_cache(maxsize=2)
def _read_weights(path: Path) -> NDArray[np.float16]:
    """Return the one tensor of a safetensors file: 8 bytes of length, a JSON header, the rows."""
    data = _checked(path, _WEIGHTS_SHA256)
    size = int.from_bytes(data[:8], "little")
    (tensor,) = (v for k, v in json.loads(data[8 : 8 + size]).items() if k != "__metadata__")
    return np.frombuffer(data, dtype="<f2", offset=8 + size).reshape(tensor["shape"])


def _read_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(_checked(path, _TOKENIZER_SHA256).decode("utf-8"))


def _checked(path: Path, sha256: str) -> bytes:
    """Return the bytes of a file whose hash is known."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"the embedding model cannot be read: {error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise StoreError(
            f"{path} is not the file this version knows (SHA-256 {found}, expected {sha256}): "
            "install wordllama 0.4, or name another embedder"
        )
    return data
