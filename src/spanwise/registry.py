"""From a name to an object: "wordllama" or "vendor:model" to an embedder, loaded when asked for.

A vendor registers a function from a model's name (empty for its default) to an embedder under the
entry point group `spanwise.embedders`; those that come with Spanwise use the same door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from spanwise.errors import OptionError

if TYPE_CHECKING:
    from spanwise.ports import Embedder

__all__ = ["default_embedder_name", "make_embedder"]

_GROUP = "spanwise.embedders"
_DEFAULT = "wordllama"


def default_embedder_name() -> str | None:
    """Return the embedder that needs no key and no download, or None where it is not installed."""
    from spanwise.providers.wordllama import find_wordllama

    return _DEFAULT if find_wordllama() is not None else None


def make_embedder(name: str) -> Embedder:
    """Return the embedder of that name: "vendor" or "vendor:model".

    Raises:
        OptionError: If no installed package registers the vendor.
    """
    from importlib.metadata import entry_points

    vendor, _, model = name.partition(":")
    found = entry_points(group=_GROUP, name=vendor)
    if not found:
        known = ", ".join(sorted(entry.name for entry in entry_points(group=_GROUP)))
        # Those of Spanwise itself are always registered: none at all is a broken installation.
        hint = f"known: {known}" if known else "none is registered: install spanwise again"
        raise OptionError(f"embedder is {name!r}; no installed package offers it ({hint})")
    return cast("Embedder", next(iter(found)).load()(model))
