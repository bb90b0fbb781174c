"""What is settled when a knowledge base is made and holds for all its documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import EmbedderMismatchError, FormatError, OptionError
from spanwise.models.embed_caller import is_contextual
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.models.registry import default_embedder_name, make_embedder
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.packs.pack_file import default_record, record_of, recorded_packs
from spanwise.types.plain import from_plain, shown

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.models.ports import Embedder
    from spanwise.stores.port import Store


NO_EMBEDDER = "none"
_MAX_DIMENSION = 1 << 16
_Value = TypeVar("_Value")
_DEFAULT_TOKENIZER = "o200k_base"
_CHARS_A_TERM = 6.5  # of English text with its spaces
_CHARS_A_TOKEN = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings as they are recorded."""

    embedder: str
    """Name, or "none" for keywords alone."""
    embedder_version: str
    tokenizer: str
    sections: SectionOptions
    chunks: ChunkOptions
    recorded: Mapping[str, str]
    """All of them as text."""


def wanted_settings(
    *,
    embedder: str | Embedder | None,
    tokenizer: str | None,
    sections: SectionOptions | None,
    chunks: ChunkOptions | None,
    packs: Sequence[str | Path] | None = None,
    is_new: bool = True,
) -> dict[str, str]:
    """Return the settings that a caller names, checked before anything is made.

    Args:
        embedder: An object; "auto" for what is recorded, or the default of a new one; None for
            keywords alone.
        tokenizer: Name; None for what is recorded.
        sections: None for what is recorded.
        chunks: None for what is recorded.
        packs: Names and paths; None for what is recorded, or those that come with the package.
        is_new: Whether nothing is recorded yet. An embedder may have to be called for the length
            of its vectors; what is recorded needs no call.

    Raises:
        OptionError: If there is no such tokenizer or pack, or the embedder is none.
        ModelError: If an embedder has to be called, and fails.
    """
    wanted: dict[str, str] = {}
    if not isinstance(embedder, str):
        wanted |= _embedder_settings(embedder, is_new=is_new)
    if tokenizer is not None:
        wanted["tokenizer"] = make_tokenizer(tokenizer).name
    if sections is not None:
        wanted["sections"] = _as_text(sections)
    if chunks is not None:
        wanted |= _chunk_settings(chunks)
    if packs is not None:
        wanted["packs"] = record_of(packs)
    return wanted


def settle(store: Store, wanted: Mapping[str, str], *, embedder: str | Embedder | None) -> Settings:
    """Return the settings of a knowledge base; record them first if it is new.

    Args:
        store: The store.
        wanted: Settings that the caller gives; the others are as recorded, or the defaults.
        embedder: An object; "auto" for the recorded one, or the default of a new knowledge base;
            None for keywords alone.

    Raises:
        EmbedderMismatchError: If another embedder is recorded.
        OptionError: If another tokenizer or other options are recorded.
        FormatError: If what is recorded is damaged.
    """
    recorded = store.ensure_settings({})
    if "embedder" not in recorded:
        if not isinstance(embedder, str):
            wanted = {**wanted, **_embedder_settings(embedder)}
        recorded = store.ensure_settings(_with_defaults(wanted))
    _check(recorded, wanted)
    return _read_settings(recorded)


def _read_settings(recorded: Mapping[str, str]) -> Settings:
    """Return the settings of a knowledge base, whoever wrote them.

    Raises:
        FormatError: If one is missing, or has no usable value.
    """
    _read(recorded, "dimension", _dimension)
    _read(recorded, "reference_terms", _positive)
    _read(recorded, "tokenizer", str)
    return Settings(
        embedder=_read(recorded, "embedder", str),
        embedder_version=_read(recorded, "embedder_version", str),
        tokenizer=recorded["tokenizer"],
        sections=_read(recorded, "sections", lambda text: _options(SectionOptions, text)),
        chunks=_read(recorded, "chunks", lambda text: _options(ChunkOptions, text)),
        recorded=recorded,
    )


def _read(recorded: Mapping[str, object], name: str, read: Callable[[str], _Value]) -> _Value:
    try:
        text = recorded[name]
        if isinstance(text, str):
            return read(text)
        error: Exception = TypeError(f"{shown(text)} is no text")
    except (KeyError, TypeError, ValueError, RecursionError) as caught:
        error = caught
    raise FormatError(
        f"the setting {name!r} of this knowledge base is damaged: {shown(error)}; restore it "
        "from a backup, or add the documents to a new one"
    ) from error


def _dimension(text: str) -> int:
    if not 0 <= (value := int(text)) <= _MAX_DIMENSION:
        raise ValueError(f"{value} is no length of a vector")
    return value


def _positive(text: str) -> float:
    if not 0 < (value := float(text)) < inf:
        raise ValueError(f"{value} is no length in terms")
    return value


def _options(kind: type[_Value], text: str) -> _Value:
    return from_plain(kind, json.loads(text))


def _with_defaults(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new knowledge base."""
    defaults = {"tokenizer": _DEFAULT_TOKENIZER, "sections": _as_text(SectionOptions())}
    defaults |= _chunk_settings(ChunkOptions())
    if "packs" not in wanted:
        defaults["packs"] = default_record()
    if "embedder" not in wanted:
        name = default_embedder_name()
        defaults |= _embedder_settings(None if name is None else make_embedder(name))
    return {**defaults, **wanted}


def _embedder_settings(embedder: Embedder | None, *, is_new: bool = True) -> dict[str, str]:
    if embedder is None:
        return {"embedder": NO_EMBEDDER, "embedder_version": "", "dimension": "0"}
    is_asked = is_new or not is_contextual(embedder) or embedder.is_local
    parts = ("name", "version", "embed", *(["dimension"] if is_asked else []))
    if not all(hasattr(embedder, part) for part in parts):
        raise OptionError(
            f"embedder is {embedder!r}; give a name, None, or an object with name, version, "
            "dimension and embed"
        )
    settings = {"embedder": embedder.name, "embedder_version": embedder.version}
    if is_asked:
        settings["dimension"] = str(embedder.dimension)
    return settings


def _chunk_settings(chunks: ChunkOptions) -> dict[str, str]:
    """Return the options of chunks, with the length that BM25 takes as usual for them."""
    chars = chunks.target * (_CHARS_A_TOKEN if chunks.unit == "tokens" else 1.0)
    return {
        "chunks": _as_text(chunks),
        "reference_terms": str(round(chars / _CHARS_A_TERM, 3)),
    }


def _as_text(options: SectionOptions | ChunkOptions) -> str:
    return json.dumps(asdict(options), sort_keys=True)


def _check(recorded: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raise if the knowledge base was made with something else than what is wanted."""
    for name, value in wanted.items():
        if recorded.get(name) == value:
            continue
        if name == "packs":
            _check_packs(recorded.get(name, ""), value)
            continue
        message = (
            f"this knowledge base was made with {name} {recorded.get(name)!r}, and {value!r} is "
            "asked for; open it without that option, or add the documents to a new one"
        )
        raise (
            EmbedderMismatchError(message)
            if name.startswith(("embedder", "dim"))
            else OptionError(message)
        )


def _check_packs(recorded: str, wanted: str) -> None:
    """Raise if other packs are in use than are wanted; where they came from does not matter."""
    used, named = recorded_packs(recorded), recorded_packs(wanted)
    if [one.pack for one in used] != [one.pack for one in named]:
        raise OptionError(
            f"this knowledge base uses the packs {[one.pack.name for one in used]!r}, and "
            f"{[one.pack.name for one in named]!r} are asked for, or one of them in another "
            "version; open it without `packs`, and change them with `packs.use` and `packs.remove`"
        )
