"""Static embedding model, read from the files of the package `wordllama`.

The package itself is never imported, because it loads a network client and configures the root
logger. Two of its data files are used: a float16 matrix with a row per token, and the tokenizer.
The vector of a text is the sum of the rows of its tokens.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import mmap
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import OptionError, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from spanwise.options import ModelOptions


_MODEL = "l2-supercat-256"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
_TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_FIRST_WORDS = 1_000
_MAX_WORDS = 50_000  # maximum size of the cache of word vectors, a kilobyte each
_BLOCK_WORDS = 1_024  # the tokenizer needs several kilobytes for each word of a block
_MAX_WORD_CHARS = 200  # the tokenizer's time is quadratic in the length of a word
_MAX_ADDED = 8  # `reduceat` adds the tokens after the first of a longer run in eight parts
_SPACE_MARK = "\u2581"
_AMBIGUOUS = re.compile(f"{_SPACE_MARK}|</?s>|<unk>")
_HALF_SHIFT = 13  # to the place of the exponent and fraction in single precision
_HALF_BITS = np.int32(-(1 << 31) | 0x0FFFE000)  # without copies of the sign
_HALF_SCALE = np.float32(2.0**112)  # the difference of the exponent biases


def find_wordllama() -> Path | None:
    """Return the folder of the installed package; None if it is not installed."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


class _WordRows(dict[str, int]):
    """Row of each word in the cache; a new word gets the next row."""

    def __missing__(self, word: str) -> int:
        row = self[word] = len(self)
        return row


class WordLlama:
    """Static embedder: the vector of a text is the sum of the vectors of its tokens.

    Each word is tokenized separately, so that its vector can be cached. Tokens of this vocabulary
    contain no spaces, so the result differs from that of the whole text only for repeated white
    space.
    """

    name = f"wordllama:{_MODEL}"
    version = "1"
    dimension = 256

    def __init__(self, folder: Path | None = None) -> None:
        """Map the weights into memory.

        Args:
            folder: Folder of the package; None for the installed one.

        Raises:
            StoreError: If the files are missing or have another checksum.
        """
        self.is_installed = folder is None
        """Whether the files are those of the installed package."""
        folder = folder or find_wordllama()
        if folder is None:
            raise StoreError("the package `wordllama` is not installed: pip install wordllama")
        self._folder = folder
        self._rows = _read_weights(folder / _WEIGHTS)
        self._tokenizer: Tokenizer | None = None
        self._opens_word = np.empty(0, dtype=np.bool_)
        self._lock = threading.Lock()
        self._words = _WordRows()
        self._vectors = np.empty((_FIRST_WORDS, self.dimension), dtype=np.float32)

    @classmethod
    def of_name(cls, name: str, _options: ModelOptions) -> WordLlama:
        """Return the embedder by name; "wordllama" is short for its only model.

        Raises:
            OptionError: If the name is not that of the model.
        """
        if name not in ("wordllama", cls.name):
            raise OptionError(f"embedder is {name!r}; it must be {cls.name!r}")
        return cls()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, (n, 256): sums of token vectors, not normalised."""
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        with self._lock:
            rows, ends = self._cached_rows(texts)
            start = 0
            for end, vector in zip(ends, out, strict=True):
                np.add.reduce(self._vectors.take(rows[start:end], axis=0), axis=0, out=vector)
                start = end
        return out

    def _cached_rows(self, texts: Sequence[str]) -> tuple[NDArray[np.intp], list[int]]:
        """Return the row in the cache of each word of all texts, and the end of each text in them.

        New words are added to the cache.
        """
        if len(self._words) > _MAX_WORDS:
            self._words.clear()
        known = len(self._words)
        row_of = self._words.__getitem__
        rows: list[int] = []
        ends: list[int] = []
        try:
            for text in texts:
                rows.extend(map(row_of, text.split()))
                ends.append(len(rows))
            self._learn(known)
        except BaseException:
            self._words.clear()  # some words have no vectors
            raise
        return np.array(rows, dtype=np.intp), ends

    def _learn(self, first: int) -> None:
        """Compute the vectors of the words in the cache from row `first`."""
        end = len(self._words)
        if end == first:
            return
        if end > len(self._vectors):
            grown = np.empty((max(end, 2 * len(self._vectors)), self.dimension), dtype=np.float32)
            grown[:first] = self._vectors[:first]
            self._vectors = grown
        new = list(islice(reversed(self._words), end - first))
        self._vectors[first:end] = self.sum_tokens(new)[::-1]

    def sum_tokens(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the sum of the token vectors of each word, (n, 256). The cache is not used.

        Args:
            words: Words without white space, at least one, none empty.
        """
        sums = np.empty((len(words), self.dimension), dtype=np.float32)
        for first in range(0, len(words), _BLOCK_WORDS):
            cut = [word[:_MAX_WORD_CHARS] for word in words[first : first + _BLOCK_WORDS]]
            sums[first : first + len(cut)] = self._sum_runs(*self._tokenize(cut))
        return sums

    def _tokenize(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens of all words, and the number of tokens of each word.

        The words are tokenized as one text, which is faster. This gives the tokens of the single
        words, because a word starts with a space mark, and no token continues after one. Words that
        contain the mark or the name of a special token are the exception.
        """
        if self._tokenizer is None:
            self._tokenizer = _read_tokenizer(self._folder / _TOKENIZER)
            self._opens_word = _word_openings(self._tokenizer, len(self._rows))
        text = " ".join(words)
        if _AMBIGUOUS.search(text) is None:
            (encoding,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
            ids = np.array(encoding.ids, dtype=np.int64)
            starts = np.flatnonzero(self._opens_word[ids])
            return ids, np.diff(starts, append=len(ids))
        encodings = self._tokenizer.encode_batch_fast(words, add_special_tokens=False)
        lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
        return np.concatenate([encoding.ids for encoding in encodings]), lengths

    def _sum_runs(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the sum of the vectors of each run of tokens, added in the order of `reduceat`.

        Args:
            ids: Tokens of all runs, in order.
            lengths: Number of tokens of each run, at least 1.
        """
        sums = np.empty((len(lengths), self.dimension), dtype=np.float32)
        starts = np.cumsum(lengths) - lengths
        is_long = lengths > _MAX_ADDED
        if is_long.any():
            rows = self._float_rows(ids[np.repeat(is_long, lengths)])
            long = lengths[is_long]
            sums[is_long] = np.add.reduceat(rows, np.cumsum(long) - long, axis=0)
        short = np.flatnonzero(~is_long)
        short = short[np.argsort(-lengths[short], kind="stable")]
        counts = [int(np.count_nonzero(lengths[short] > n)) for n in range(_MAX_ADDED)]
        firsts = self._float_rows(ids[starts[short]])
        rests = self._float_rows(ids[starts[short[: counts[1]]] + 1])
        for place in range(2, max(2, int(lengths[short].max(initial=0)))):
            some = short[: counts[place]]
            rests[: len(some)] += self._float_rows(ids[starts[some] + place])
        firsts[: counts[1]] += rests
        sums[short] = firsts
        return sums

    def _float_rows(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return rows of the weights in single precision; faster than a conversion by numpy."""
        bits = self._rows[ids].view(np.int16).astype(np.int32)
        bits <<= _HALF_SHIFT
        bits &= _HALF_BITS
        rows = bits.view(np.float32)
        rows *= _HALF_SCALE
        return rows


def _word_openings(tokenizer: Tokenizer, size: int) -> NDArray[np.bool_]:
    """Return whether each token of a vocabulary starts with the mark of a space, (size,)."""
    openings = np.zeros(size, dtype=np.bool_)
    openings[[i for token, i in tokenizer.get_vocab().items() if token[0] == _SPACE_MARK]] = True
    return openings


@lru_cache(maxsize=2)
def _read_weights(path: Path) -> NDArray[np.float16]:
    """Return the only tensor of a safetensors file.

    The file has the length of the header (8 bytes), the header as JSON, and the rows.
    """
    data = _mapped_file(path, _WEIGHTS_SHA256)
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    (tensor,) = (value for name, value in header.items() if name != "__metadata__")
    return np.frombuffer(data, dtype="<f2", offset=8 + size).reshape(tensor["shape"])


@lru_cache(maxsize=2)
def _read_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_buffer(bytes(_mapped_file(path, _TOKENIZER_SHA256)))


def _mapped_file(path: Path, sha256: str) -> mmap.mmap:
    """Return a file mapped into memory, after a check of its SHA-256."""
    try:
        with path.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise StoreError(f"the embedding model cannot be read: {error}") from error
    checksum = hashlib.sha256(data).hexdigest()
    if checksum != sha256:
        raise StoreError(
            f"{path} is not the expected file (SHA-256 {checksum}, expected {sha256}): "
            "install wordllama 0.4, or name another embedder"
        )
    return data


def count_pieces(words: Sequence[str]) -> list[int]:
    """Return the number of tokens of each word in lower case; empty without `wordllama`.

    A common word is one token. A rare or misspelt word is several tokens.

    Raises:
        StoreError: If the checksum of the tokenizer does not match.
    """
    folder = find_wordllama() if words else None
    if folder is None:
        return []
    lower = [word.lower()[:_MAX_WORD_CHARS] for word in words]
    encodings = _piece_tokenizer(folder).encode_batch_fast(lower, add_special_tokens=False)
    return [len(encoding.ids) for encoding in encodings]


@lru_cache(maxsize=1)
def _piece_tokenizer(folder: Path) -> Tokenizer:
    return _read_tokenizer(folder / _TOKENIZER)
