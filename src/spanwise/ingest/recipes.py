"""Recipe of a document: a record of the options for the parts that a model or the caller supplied.

Rules:
    A document is processed again if the requested recipe differs from the recorded one, but not if
    no recipe is requested.
    Parts that could not be made because the model was unreachable are recorded as missing. Such a
    recipe never equals the requested one, so the same command makes the missing parts. Parts with
    an unusable answer are not recorded as missing, and not requested again.
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
"""Recipe as JSON data; empty if no parts are requested."""

_VERSIONS = {"pages": 1, "sections": 1, "headers": 1, "chunk_contexts": 1}
"""Version of each part; increased when changed prompts require new results."""
_AGAIN = "again"
_PLAIN_TITLE = "plain_title"
_HASH_DIGITS = 12


def requested_recipe(
    *, model: str = "", options: ContextOptions | None = None, given: GivenParts | None = None
) -> Recipe:
    """Return the requested recipe.

    Args:
        model: Vendor and model; empty without a model.
        options: Options for the parts that the model makes; None for no parts.
        given: Parts supplied by the caller; None for no parts.
    """
    recipe: dict[str, Plain] = {}
    if options is not None:
        recipe["model"] = model
        if options.read_pages:
            recipe["pages"] = {"version": _VERSIONS["pages"]}
        if options.sections:
            recipe["sections"] = {
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
            recipe["headers"] = {
                "version": _VERSIONS["headers"],
                "guidance": _hash(*guidance),
                "language": options.language,
                "title_tokens": options.title_tokens,
                "summary_tokens": options.summary_tokens,
            }
        if options.chunk_contexts:
            recipe["chunk_contexts"] = {
                "version": _VERSIONS["chunk_contexts"],
                "language": options.language,
            }
    if given is not None:
        recipe["given"] = _hash(json.dumps(to_plain(given)))
    return recipe


def recorded_recipe(recipe: Recipe, *, plain_title: str, again: Collection[str]) -> str:
    """Return the JSON text of a recipe; empty for an empty recipe.

    Args:
        recipe: Requested recipe.
        plain_title: Title of the document without a model, used to detect a changed title.
        again: Names of missing parts, to be requested again in a later run.
    """
    if not recipe:
        return ""
    recorded: dict[str, Plain] = {**recipe, _PLAIN_TITLE: plain_title}
    if again:
        recorded[_AGAIN] = list[Plain](sorted(again))
    return json.dumps(recorded, ensure_ascii=False, sort_keys=True)


def has_recipe(record: DocumentRecord, requested: Recipe) -> bool:
    """Return whether a document has the requested recipe, or no recipe is requested."""
    return not requested or stored_recipe(record) == requested


def stored_recipe(record: DocumentRecord) -> Recipe:
    """Return the recipe of a stored document; empty if it has none."""
    recorded = _read(record)
    recorded.pop(_PLAIN_TITLE, None)
    return recorded


def reads_pages(record: DocumentRecord) -> bool:
    """Return whether a model read pages of a stored document."""
    return "pages" in _read(record)


def plain_title(record: DocumentRecord) -> str:
    """Return the title that a stored document has if no model makes one."""
    return str(_read(record).get(_PLAIN_TITLE, record.title))


def _read(record: DocumentRecord) -> dict[str, Plain]:
    if not record.recipe:
        return {}
    recorded: dict[str, Plain] = json.loads(record.recipe)
    return recorded


def _hash(*texts: str) -> str:
    """Return a short hash of texts; empty if all texts are empty."""
    if not any(texts):
        return ""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:_HASH_DIGITS]
