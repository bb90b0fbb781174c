"""Open what a knowledge base is made of: its store, and the embedder that made its vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import EmbedderMismatchError, OptionError
from spanwise.knowledge_base.settings import NO_EMBEDDER
from spanwise.models.registry import make_embedder

if TYPE_CHECKING:
    from spanwise.knowledge_base.settings import Settings
    from spanwise.models.ports import Embedder
    from spanwise.options import ModelOptions
    from spanwise.stores.port import Store


_MEMORY = ":memory:"


def open_store(path: str | Path, *, create: bool) -> Store:
    """Return the store of a path; imported here, so that importing Spanwise stays light.

    Raises:
        FormatError: If the path is no knowledge base, or one of a newer version.
        StoreError: If it cannot be made or opened.
    """
    if str(path) == _MEMORY:
        from spanwise.stores.memory import MemoryStore

        return MemoryStore()
    from spanwise.stores.embedded import open_embedded

    return open_embedded(Path(path).absolute(), create=create)


def named_embedder(
    embedder: str | Embedder | None, *, models: ModelOptions
) -> str | Embedder | None:
    """Return the embedder that is named as an object, made once; others as they are.

    Raises:
        OptionError: If there is no such embedder.
        ModelKeyError: If there is no key for it.
    """
    if isinstance(embedder, str) and embedder != "auto":
        return make_embedder(embedder, options=models)
    return embedder


def open_embedder(
    settings: Settings, *, given: Embedder | None, path: Path, models: ModelOptions
) -> Embedder | None:
    """Return the embedder that a knowledge base was made with, None for keywords alone.

    Args:
        settings: As recorded.
        given: What the caller gave as an object.
        path: For messages.
        models: How it is called.

    Raises:
        EmbedderMismatchError: If it is not installed, or in another version.
        ModelKeyError: If there is no key for it.
    """
    if settings.embedder == NO_EMBEDDER:
        return None
    if given is not None:
        return given
    try:
        embedder = make_embedder(settings.embedder, options=models)
    except OptionError as error:
        raise EmbedderMismatchError(
            f"{path} holds vectors of {settings.embedder!r}, which no installed package "
            "offers; install that package, or open it with `embedder=` and the object"
        ) from error
    if embedder.version != settings.embedder_version:
        raise EmbedderMismatchError(
            f"{path} holds vectors of {settings.embedder} version "
            f"{settings.embedder_version}, and version {embedder.version} is installed; "
            "install that version, or add the documents to a new knowledge base"
        )
    return embedder
