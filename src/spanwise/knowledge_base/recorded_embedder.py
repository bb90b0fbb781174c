"""Embedder of a knowledge base, and the approval of its address.

A knowledge base may come from a stranger, and its embedder receives documents and questions. An
embedder with an address ("compatible:bge@http://gpu:8000/v1") is used only if the caller names it,
which approves the address for this user, or if the user has approved the address before.
"""

from __future__ import annotations

import logging
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from spanwise.config import trust_store
from spanwise.errors import EmbedderMismatchError, OptionError, UntrustedAddressError
from spanwise.knowledge_base.settings import NO_EMBEDDER
from spanwise.models.providers.catalog import MINILM, split_address
from spanwise.models.registry import make_embedder

if TYPE_CHECKING:
    from spanwise.config import Location
    from spanwise.knowledge_base.settings import Settings
    from spanwise.models.ports import Embedder
    from spanwise.options import ModelOptions


_MEMORY = ":memory:"
_LOCAL_VENDORS = ("sentence-transformers", "fastembed", "minilm")
_log = logging.getLogger("spanwise")


def named_embedder(
    embedder: str | Embedder | None, *, models: ModelOptions
) -> str | Embedder | None:
    """Return the embedder object for a name; "auto", None and objects are returned unchanged.

    Raises:
        OptionError: If there is no such embedder.
        ModelKeyError: If its API key is missing.
    """
    if isinstance(embedder, str) and embedder != "auto":
        return make_embedder(embedder, options=models)
    return embedder


def approve_embedder(name: str, *, path: Location) -> None:
    """Record the user's approval of the address in the name of an embedder.

    If the approval cannot be written, a warning is logged, and the embedder must be named again.
    """
    if str(path) == _MEMORY:
        return
    try:
        origin = _origin(name)
        if origin and not trust_store().has_origin(origin):
            trust_store().add_origin(origin)
    except ValueError as error:
        _log.warning("the embedder %s has to be named again next time: %s", name, error)


def _origin(embedder: str) -> str:
    """Return the origin of the address in the name of an embedder; empty if it has none.

    Raises:
        ValueError: If the address is invalid.
    """
    address = split_address(embedder)[1]
    if not address:
        return ""
    from spanwise.config.network_addresses import canonical_origin

    return canonical_origin(address)


def _check_address(settings: Settings, *, path: Location) -> None:
    """Refuse a recorded embedder at an address that the user has not approved.

    Raises:
        UntrustedAddressError: If the address is not approved; nothing was sent.
        EmbedderMismatchError: If the address is invalid.
    """
    try:
        origin = _origin(settings.embedder)
    except ValueError as error:
        raise EmbedderMismatchError(
            f"{path} holds vectors of {settings.embedder!r}, whose address is not usable: {error}; "
            "open it with `embedder=` and an object"
        ) from error
    if origin and not trust_store().has_origin(origin):
        shown = quote(origin)  # untrusted text that the user may paste into a shell
        raise UntrustedAddressError(
            f"{path} would send documents and questions to {origin}, which you have not approved; "
            f"if you know that server, run `spanwise config trust {shown}`, open it with "
            f"embedder={settings.embedder!r}, or set SPANWISE_TRUSTED_ADDRESSES={shown}",
            address=origin,
        )


def _check_local_model(settings: Settings, *, path: Location) -> None:
    """Refuse a recorded embedder that is a local folder, because loading a model can run code.

    Raises:
        UntrustedAddressError: If the embedder is a local folder; nothing was loaded.
    """
    vendor, _, model = settings.embedder.partition(":")
    if vendor not in _LOCAL_VENDORS or settings.embedder == MINILM:
        return
    is_folder = model.startswith((".", "/", "~")) or "\\" in model or Path(model).exists()
    if is_folder:
        raise UntrustedAddressError(
            f"{path} names a model in a folder of this machine, {settings.embedder!r}, which could "
            f"run code; if you trust that folder, open it with embedder={settings.embedder!r}",
            address=model,
        )


def open_embedder(
    settings: Settings, *, given: Embedder | None, path: Location, models: ModelOptions
) -> Embedder | None:
    """Return the embedder that a knowledge base was made with; None for keyword search only.

    Args:
        settings: Recorded settings.
        given: Embedder object of the caller; None to load the recorded one.
        path: Folder of the knowledge base, for messages.
        models: Options of its calls.

    Raises:
        EmbedderMismatchError: If the embedder is not installed, or its version differs.
        UntrustedAddressError: If it has an address that is not approved, or is a local folder.
        ModelKeyError: If its API key is missing.
    """
    if settings.embedder == NO_EMBEDDER:
        return None
    if given is not None:
        return given
    _check_address(settings, path=path)
    _check_local_model(settings, path=path)
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
            "install that version, or embed all documents again with "
            f"`spanwise rebuild --embedder {quote(settings.embedder)}`"
        )
    return embedder
