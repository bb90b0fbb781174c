"""Settings that are recorded when a knowledge base is created and hold for all its documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import EmbedderMismatchError, FormatError, OptionError, shown
from spanwise.models.embed_caller import is_contextual
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.models.registry import default_embedder_name, make_embedder
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.options.checks import check_class
from spanwise.packs.pack_file import default_record, record_of, recorded_packs
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.models.ports import Embedder
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Store


NO_EMBEDDER = "none"
RECORDED = "embedder"
"""Name of a setting that every knowledge base has."""
HEADERS = "headers"
"""Name of the setting for headers in the vectors of a static embedder."""
ADDED = "added"
"""Value of `HEADERS` if vectors include headers; older knowledge bases lack the setting."""
REVISION = "revision"
"""Name of the setting with the number of rebuilds; missing before the first one."""
_MAX_DIMENSION = 1 << 16
_Value = TypeVar("_Value")
_DEFAULT_TOKENIZER = "o200k_base"
_CHARS_A_TERM = 6.5  # of English text with its spaces
_CHARS_A_TOKEN = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Recorded settings of a knowledge base."""

    embedder: str
    """Name of the embedder, or "none" for keyword search only."""
    embedder_version: str
    """Version of the embedder; empty without an embedder."""
    tokenizer: str
    """Name of the tokenizer."""
    sections: SectionOptions
    """Options for splitting documents into sections."""
    chunks: ChunkOptions
    """Options for splitting sections into chunks."""
    recorded: Mapping[str, str]
    """All settings in text form, by name."""

    @property
    def dimension(self) -> int:
        """Dimension of the stored vectors; 0 without an embedder."""
        return int(self.recorded["dimension"])

    @property
    def adds_headers(self) -> bool:
        """Whether the vectors of a static embedder include section headers."""
        return self.recorded.get(HEADERS) == ADDED


def wanted_settings(
    *,
    embedder: str | Embedder | None,
    tokenizer: str | None,
    sections: SectionOptions | None,
    chunks: ChunkOptions | None,
    packs: Sequence[str | Path] | None = None,
    is_new: bool = True,
) -> dict[str, str]:
    """Return the requested settings in text form, checked before anything is created.

    Args:
        embedder: Embedder object; "auto" for the recorded or default one; None for keyword search
            only.
        tokenizer: Name of a tokenizer; None for the recorded one.
        sections: Options; None for the recorded ones.
        chunks: Options; None for the recorded ones.
        packs: Names and paths; None for the recorded packs or the shipped ones.
        is_new: Whether nothing is recorded yet. Only then an embedder may be called for its
            dimension.

    Raises:
        OptionError: If there is no such tokenizer or pack, or the embedder lacks a member.
        ModelError: If an embedder is called for its dimension and fails.
    """
    check_class("sections", sections, SectionOptions)
    check_class("chunks", chunks, ChunkOptions)
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
        store: Store of the knowledge base.
        wanted: Settings requested by the caller. Every other setting has its recorded value, or in
            a new knowledge base its default.
        embedder: Embedder object; "auto" for the recorded one, or the default for a new knowledge
            base; None for keyword search only.

    Raises:
        EmbedderMismatchError: If another embedder is recorded.
        OptionError: If another tokenizer or other options are recorded.
        FormatError: If a recorded setting is damaged.
    """
    recorded = store.ensure_settings({})
    if RECORDED not in recorded:
        if not isinstance(embedder, str):
            wanted = {**wanted, **_embedder_settings(embedder)}
        recorded = store.ensure_settings(_with_defaults(wanted))
    _check(recorded, wanted)
    return _read_settings(recorded)


def rebuilt_settings(recorded: Mapping[str, str], wanted: Mapping[str, str]) -> Settings:
    """Return the settings of a knowledge base after a rebuild.

    Args:
        recorded: All settings before the rebuild.
        wanted: Settings that change.

    Raises:
        FormatError: If a setting is missing or invalid.
    """
    revision = str(int(recorded.get(REVISION, "0")) + 1)
    return _read_settings({**recorded, **wanted, HEADERS: ADDED, REVISION: revision})


def _read_settings(recorded: Mapping[str, str]) -> Settings:
    """Return the settings of a knowledge base from their text form.

    Raises:
        FormatError: If a setting is missing or invalid.
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
    defaults[HEADERS] = ADDED
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
    _check_members(embedder, "name", "version", "embed")
    if is_contextual(embedder):
        _check_members(
            embedder, "embed_texts", "is_local", "batch_texts", "concurrency", "estimate"
        )
    is_asked = is_new or not is_contextual(embedder) or embedder.is_local
    if is_asked:
        _check_members(embedder, "dimension")
    settings = {"embedder": embedder.name, "embedder_version": embedder.version}
    if is_asked:
        settings["dimension"] = str(embedder.dimension)
    return settings


def _check_members(embedder: Embedder, *members: str) -> None:
    """Raise an error if an embedder lacks a member; reading `dimension` may call its model."""
    missing = [member for member in members if not hasattr(embedder, member)]
    if missing:
        raise OptionError(
            f"embedder is {embedder!r}; give a name, None, or an object that has "
            f"{', '.join(missing)} (spanwise.models.ports)"
        )


def _chunk_settings(chunks: ChunkOptions) -> dict[str, str]:
    """Return the chunk options, with the reference length of a chunk for BM25, in terms."""
    chars = chunks.target * (_CHARS_A_TOKEN if chunks.unit == "tokens" else 1.0)
    return {
        "chunks": _as_text(chunks),
        "reference_terms": str(round(chars / _CHARS_A_TERM, 3)),
    }


def _as_text(options: SectionOptions | ChunkOptions) -> str:
    return json.dumps(asdict(options), sort_keys=True)


def _check(recorded: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raise if a requested setting differs from the recorded one."""
    for name, value in wanted.items():
        if recorded.get(name) == value:
            continue
        if name == "packs":
            _check_packs(recorded.get(name, ""), value)
            continue
        message = (
            f"this knowledge base was made with {name} {recorded.get(name)!r}, and {value!r} is "
            "requested; open it without that option, or change it for all documents with "
            "`spanwise rebuild` (`KnowledgeBase.rebuild`)"
        )
        raise (
            EmbedderMismatchError(message)
            if name.startswith(("embedder", "dim"))
            else OptionError(message)
        )


def _check_packs(recorded: str, wanted: str) -> None:
    """Raise if the requested packs differ from the recorded ones; their origin is ignored."""
    in_use = [named.pack for named in recorded_packs(recorded)]
    requested = [named.pack for named in recorded_packs(wanted)]
    if in_use != requested:
        raise OptionError(
            f"this knowledge base uses the packs {[pack.name for pack in in_use]!r}, and "
            f"{[pack.name for pack in requested]!r} are asked for, or one of them in another "
            "version; open it without `packs`, and change them with `packs.use` and `packs.remove`"
        )


def given_tuning(file: str | Path | None) -> Tuning | None:
    """Return the tuning in a file; None without a file.

    Raises:
        OptionError: If the file is no tuning.
    """
    if file is None:
        return None
    from spanwise.search.tuned_options import read_tuning

    return read_tuning(file)


def check_tuning(tuning: Tuning, settings: Settings, *, file: str) -> None:
    """Check that a tuning was made for the embedder and the chunks of a knowledge base.

    Args:
        tuning: The tuning.
        settings: Settings of the knowledge base.
        file: File of the tuning, for messages.

    Raises:
        EmbedderMismatchError: If it was made for another embedder.
        OptionError: If it was made for other chunks.
    """
    if tuning.embedder != settings.embedder:
        raise EmbedderMismatchError(
            f"{file} was tuned with the embedder {tuning.embedder!r}, and this knowledge base has "
            f"vectors of {settings.embedder!r}; tune again with this knowledge base"
        )
    if tuning.chunks is not None and tuning.chunks != settings.chunks:
        raise OptionError(
            f"{file} was tuned for chunks of {tuning.chunks.target} {tuning.chunks.unit}, and "
            f"this knowledge base has chunks of {settings.chunks.target} {settings.chunks.unit}; "
            f"rebuild it with `spanwise rebuild --tuning FILE`"
        )
