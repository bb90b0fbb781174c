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
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import OptionError, StoreError
from spanwise.models.providers.word_pieces import piece_ids, read_vocabulary

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
_SPACE_MARK = "\u2581"
_AMBIGUOUS = re.compile(f"{_SPACE_MARK}|</?s>|<unk>")
_FEW_WORDS = 64  # for fewer words, reading the tokenizer takes longer than tokenizing in Python


def find_wordllama() -> Path | None:
    """Return the folder of the installed package; None if it is not installed."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


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
        self._lock = threading.Lock()
        self._words = _WordRows()
        self._vectors = np.empty((_FIRST_WORDS, self.dimension), dtype=np.float32)
        self._used_again = np.zeros(_FIRST_WORDS, dtype=np.bool_)
        """Whether each word was used since the call that added it, or since the last `_forget`."""

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
        split = [text.split() for text in texts]
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        with self._lock:
            rows = self._cached_rows(list(chain.from_iterable(split)))
            start = 0
            for position, words in enumerate(split):
                end = start + len(words)
                self._vectors.take(rows[start:end], axis=0).sum(axis=0, out=out[position])
                start = end
        return out

    def _cached_rows(self, words: Sequence[str]) -> NDArray[np.intp]:
        """Return the row of each word in the cache, to which new words are added."""
        if len(self._words) > _MAX_WORDS:
            self._forget()
        first = len(self._words)
        try:
            rows = np.fromiter(map(self._words.__getitem__, words), np.intp, count=len(words))
            self._learn(first)
        except BaseException:
            self._words = _WordRows()  # it has words without vectors
            raise
        self._used_again[rows] = True
        self._used_again[first:] = False
        return rows

    def _learn(self, first: int) -> None:
        """Add the vectors of new words to the cache; `first` is the row of the first of them."""
        new, end = self._words.new, len(self._words)
        if end > len(self._vectors):
            grown = np.empty((max(end, 2 * len(self._vectors)), self.dimension), dtype=np.float32)
            grown[:first] = self._vectors[:first]
            self._vectors = grown
            self._used_again = np.append(self._used_again, np.zeros(len(grown), dtype=np.bool_))
        if new:
            self._vectors[first:end] = self.sum_tokens(new)
            self._words.new = []

    def _forget(self) -> None:
        """Make room in the cache: keep words that were used again, to three quarters of it."""
        kept = np.flatnonzero(self._used_again[: len(self._words)])[: _MAX_WORDS * 3 // 4]
        words = list(self._words)
        self._words = _WordRows(
            zip(map(words.__getitem__, kept.tolist()), range(len(kept)), strict=True)
        )
        for first in range(0, len(kept), _BLOCK_WORDS):
            block = kept[first : first + _BLOCK_WORDS]
            self._vectors[first : first + len(block)] = self._vectors[block]
        self._used_again[:] = False

    def sum_tokens(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the sum of the token vectors of each word, (n, 256). The cache is not used.

        Args:
            words: Words without white space, at least one, none empty.
        """
        sums = np.empty((len(words), self.dimension), dtype=np.float32)
        for first in range(0, len(words), _BLOCK_WORDS):
            cut = [word[:_MAX_WORD_CHARS] for word in words[first : first + _BLOCK_WORDS]]
            ids, lengths = _tokenize(self._folder, cut)
            tokens = _as_float32(self._rows[ids])
            starts = np.cumsum(lengths) - lengths
            np.add.reduceat(tokens, starts, axis=0, out=sums[first : first + len(cut)])
        return sums


class _WordRows(dict[str, int]):
    """Row of each word in the cache. A word that is looked up for the first time gets a row."""

    def __init__(self, rows: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(rows)
        self.new: list[str] = []
        """Words that have no vector yet, in the order of their rows."""

    def __missing__(self, word: str) -> int:
        row = self[word] = len(self)
        self.new.append(word)
        return row


def _as_float32(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Return finite float16 numbers as float32, several times faster than `astype`.

    The exponent moves to its place in a float32, whose exponent is biased by 112 more.
    """
    bits = halves.view("<i2").astype(np.int32)
    bits <<= 13
    bits &= ~0x70000000  # copies of the sign
    floats = bits.view(np.float32)
    floats *= np.float32(2.0**112)
    return floats


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


def _tokenize(folder: Path, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tokens of all words, and the number of tokens of each word.

    Many words are tokenized as one text, which is faster. This gives the tokens of the single
    words, because a word starts with a space mark, and no token continues after one. Words that
    contain the mark or the name of a special token are the exception.
    """
    path = folder / _TOKENIZER
    if len(words) < _FEW_WORDS and not _read_tokenizer.cache_info().currsize:
        lists = piece_ids(words, _read_vocabulary(path))
        if lists is not None:
            return _joined(lists)
    text = " ".join(words)
    encode = _read_tokenizer(path).encode_batch_fast
    if not words or _AMBIGUOUS.search(text) is not None:
        encodings = encode(words, add_special_tokens=False)
        return _joined([encoding.ids for encoding in encodings])
    (encoding,) = encode([text], add_special_tokens=False)
    ids = np.array(encoding.ids, dtype=np.int64)
    starts = np.flatnonzero(_word_openings(path)[ids])
    return ids, np.diff(starts, append=len(ids))


def _joined(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids = np.array(list(chain.from_iterable(lists)), dtype=np.int64)
    return ids, np.array(list(map(len, lists)), dtype=np.int64)


@lru_cache(maxsize=2)
def _word_openings(path: Path) -> NDArray[np.bool_]:
    """Return whether each token of the vocabulary starts with the mark of a space."""
    pieces = _read_tokenizer(path).get_vocab()
    openings = np.zeros(max(pieces.values()) + 1, dtype=np.bool_)
    openings[[number for piece, number in pieces.items() if piece[0] == _SPACE_MARK]] = True
    return openings


@lru_cache(maxsize=2)
def _read_vocabulary(path: Path) -> dict[str, int]:
    return read_vocabulary(bytes(_mapped_file(path, _TOKENIZER_SHA256)))


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
    lengths: list[int] = _tokenize(folder, lower)[1].tolist()
    return lengths
