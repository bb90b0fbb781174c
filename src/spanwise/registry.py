"""From a name to an object: "wordllama" or "vendor:model" to an embedder, loaded when asked for.

Vendors register under the entry point group `spanwise.embedders`; those that come with Spanwise
use the same door.
"""

from __future__ import annotations

from importlib.metadata import entry_points
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
    vendor, _, model = name.partition(":")
    if vendor == _DEFAULT:  # spares the search through all installed packages
        from spanwise.providers.wordllama import WordLlama

        return WordLlama.of_model(model)
    found = entry_points(group=_GROUP, name=vendor)
    if not found:
        known = sorted({entry.name for entry in entry_points(group=_GROUP)} | {_DEFAULT})
        raise OptionError(
            f"embedder is {name!r}; no installed package offers it (known: {', '.join(known)})"
        )
    make = next(iter(found)).load()
    return cast("Embedder", make(model) if model else make())
