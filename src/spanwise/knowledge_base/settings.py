"""What is settled when a knowledge base is made and holds for all its documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from spanwise.core.packs.file import recorded_packs
from spanwise.errors import EmbedderMismatchError, OptionError
from spanwise.knowledge_base.packs import record_of
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.providers.tokens import make_tokenizer
from spanwise.query.packs import default_record
from spanwise.registry import default_embedder_name, make_embedder

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.ports import Embedder, Store

__all__ = ["NO_EMBEDDER", "Settings", "settle", "wanted_settings"]

NO_EMBEDDER = "none"
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
) -> dict[str, str]:
    """Return the settings that a caller names, checked before anything is made.

    Args:
        embedder: Name or object; "auto" for what is recorded, or the default of a new one; None
            for keywords alone.
        tokenizer: Name; None for what is recorded.
        sections: None for what is recorded.
        chunks: None for what is recorded.
        packs: Names and paths; None for what is recorded, or those that come with the package.

    Raises:
        OptionError: If there is no such embedder, tokenizer or pack.
    """
    wanted: dict[str, str] = {}
    if embedder != "auto":
        wanted |= _embedder_settings(embedder)
    if tokenizer is not None:
        wanted["tokenizer"] = make_tokenizer(tokenizer).name
    if sections is not None:
        wanted["sections"] = _as_text(sections)
    if chunks is not None:
        wanted |= _chunk_settings(chunks)
    if packs is not None:
        wanted["packs"] = record_of(packs)
    return wanted


def settle(store: Store, wanted: Mapping[str, str]) -> Settings:
    """Return the settings of a knowledge base; record them where it is new.

    Args:
        store: The store.
        wanted: Settings that the caller names; what is recorded, or the default, for the others.

    Raises:
        EmbedderMismatchError: If another embedder is recorded.
        OptionError: If another tokenizer or other options are recorded.
    """
    recorded = store.ensure_settings({})
    if "embedder" not in recorded:
        recorded = store.ensure_settings(_with_defaults(wanted))
    _check(recorded, wanted)
    return Settings(
        embedder=recorded["embedder"],
        embedder_version=recorded["embedder_version"],
        tokenizer=recorded["tokenizer"],
        sections=SectionOptions(**json.loads(recorded["sections"])),
        chunks=ChunkOptions(**json.loads(recorded["chunks"])),
        recorded=recorded,
    )


def _with_defaults(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new knowledge base."""
    defaults = {"tokenizer": _DEFAULT_TOKENIZER, "sections": _as_text(SectionOptions())}
    defaults |= _chunk_settings(ChunkOptions())
    if "packs" not in wanted:
        defaults["packs"] = default_record()
    if "embedder" not in wanted:
        defaults |= _embedder_settings(default_embedder_name())
    return {**defaults, **wanted}


def _embedder_settings(embedder: str | Embedder | None) -> dict[str, str]:
    if embedder is None:
        return {"embedder": NO_EMBEDDER, "embedder_version": "", "dimension": "0"}
    made = make_embedder(embedder) if isinstance(embedder, str) else embedder
    if not all(hasattr(made, part) for part in ("name", "version", "dimension", "embed")):
        raise OptionError(
            f"embedder is {embedder!r}; give a name, None, or an object with name, version, "
            "dimension and embed"
        )
    return {
        "embedder": made.name,
        "embedder_version": made.version,
        "dimension": str(made.dimension),
    }


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
