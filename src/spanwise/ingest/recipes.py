"""What a document is made with beside its text: recorded, so that it is made once.

Rules:
    A document is made anew where another recipe is asked for than the one that it records, and
    stays as it is where nothing is asked for.
    What could not be made because the model could not be reached is recorded too: such a recipe
    is never the one that is asked for, so that the same command makes what is missing. An answer
    that was not usable is not asked for again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from spanwise.types.plain import Plain, to_plain

if TYPE_CHECKING:
    from spanwise.options import ContextOptions
    from spanwise.types import DocumentRecord, GivenParts


Recipe = Mapping[str, Plain]
"""Plain data; empty where nothing is asked for."""

_VERSIONS = {"pages": 1, "sections": 1, "headers": 1, "chunk_contexts": 1}
"""Each rises when its prompts change so much that documents should be made anew."""
_AGAIN = "again"
_PLAIN_TITLE = "plain_title"
_HASH_DIGITS = 12


def requested_recipe(
    *, model: str = "", options: ContextOptions | None = None, given: GivenParts | None = None
) -> Recipe:
    """Return the recipe that is asked for.

    Args:
        model: Vendor and model; empty for none.
        options: What the model makes; None for nothing.
        given: Parts that the caller gives.
    """
    wanted: dict[str, Plain] = {}
    if options is not None:
        wanted["model"] = model
        if options.read_pages:
            wanted["pages"] = {"version": _VERSIONS["pages"]}
        if options.sections:
            wanted["sections"] = {
                "version": _VERSIONS["sections"],
                "guidance": _hash(options.section_guidance),
                "language": options.language,
                "window_tokens": options.window_tokens,
            }
        if options.headers:
            guidance = [
                options.title_guidance,
                options.summary_guidance,
                options.section_summary_guidance,
            ]
            wanted["headers"] = {
                "version": _VERSIONS["headers"],
                "guidance": _hash(*guidance),
                "language": options.language,
                "title_tokens": options.title_tokens,
                "summary_tokens": options.summary_tokens,
            }
        if options.chunk_contexts:
            wanted["chunk_contexts"] = {
                "version": _VERSIONS["chunk_contexts"],
                "language": options.language,
            }
    if given is not None:
        wanted["given"] = _hash(json.dumps(to_plain(given)))
    return wanted


def recorded_recipe(recipe: Recipe, *, plain_title: str, again: Collection[str]) -> str:
    """Return what is recorded of how a document was made; empty for an empty recipe.

    Args:
        recipe: What was asked for.
        plain_title: The title that it has without a model, by which its file is compared.
        again: Parts that are to be asked for again.
    """
    if not recipe:
        return ""
    recorded: dict[str, Plain] = {**recipe, _PLAIN_TITLE: plain_title}
    if again:
        recorded[_AGAIN] = list[Plain](sorted(again))
    return json.dumps(recorded, ensure_ascii=False, sort_keys=True)


def has_recipe(record: DocumentRecord, wanted: Recipe) -> bool:
    """Return whether a document was made as it is asked for, or nothing is asked for."""
    return not wanted or stored_recipe(record) == wanted


def stored_recipe(record: DocumentRecord) -> Recipe:
    """Return how a document was made; empty where nothing was made of it."""
    recorded = _read(record)
    recorded.pop(_PLAIN_TITLE, None)
    return recorded


def reads_pages(record: DocumentRecord) -> bool:
    """Return whether a model was asked to read pages of a document."""
    return "pages" in _read(record)


def plain_title(record: DocumentRecord) -> str:
    """Return the title that a document has without a model."""
    return str(_read(record).get(_PLAIN_TITLE, record.title))


def _read(record: DocumentRecord) -> dict[str, Plain]:
    if not record.recipe:
        return {}
    recorded: dict[str, Plain] = json.loads(record.recipe)
    return recorded


def _hash(*texts: str) -> str:
    """Return a short hash of texts; empty where all are."""
    if not any(texts):
        return ""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:_HASH_DIGITS]
