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

from spanwise.ingest.fields import base_title
from spanwise.types.plain import Plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spanwise.options import ContextOptions
    from spanwise.types import DocumentRecord, GivenParts


Recipe = Mapping[str, Plain]
"""Recipe as JSON data; empty if no parts are requested."""

_VERSIONS = {"pages": 1, "figures": 1, "sections": 1, "headers": 1, "chunk_contexts": 1}
"""Version of each part; increased when changed prompts require new results."""
_AGAIN = "again"
_PLAIN_TITLE = "plain_title"
_PARSER = "parser"
_CHUNKS = "chunks"
_VECTORS = "vectors"
_HASH_DIGITS = 12


def requested_recipe(
    *,
    model: str = "",
    options: ContextOptions | None = None,
    given: GivenParts | None = None,
    vectors: NDArray[np.floating] | None = None,
) -> Recipe:
    """Return the requested recipe.

    Args:
        model: Vendor and model; empty without a model.
        options: Options for the parts that the model makes; None for no parts.
        given: Parts supplied by the caller; None for no parts.
        vectors: Vectors of chunks supplied by the caller; None for those of the embedder.
    """
    recipe: dict[str, Plain] = {}
    if options is not None:
        recipe["model"] = model
        if options.read_pages:
            recipe["pages"] = {"version": _VERSIONS["pages"]}
        if options.describe_figures:
            recipe["figures"] = {"version": _VERSIONS["figures"]}
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
        parts = given.to_dict()
        if given.chunk_ends:
            recipe[_CHUNKS] = "given"
        else:  # recipes of earlier versions have no such part
            del parts["chunk_ends"]
        recipe["given"] = _hash(json.dumps(parts))
    if vectors is not None:
        recipe[_VECTORS] = hashlib.sha256(vectors.tobytes()).hexdigest()[:_HASH_DIGITS]
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


def has_recipe(record: DocumentRecord, requested: Recipe, *, parser: str = "") -> bool:
    """Return whether a document has the requested recipe and was parsed by the requested parser.

    An empty recipe and an empty parser request nothing.

    Args:
        record: Record of the document.
        requested: Requested recipe.
        parser: Name and version of a parser function of the caller; empty for other parsers.
    """
    stored = stored_recipe(record)
    is_parsed = not parser or stored.get(_PARSER) == parser
    return is_parsed and (not requested or with_parser(stored, "") == requested)


def with_parser(recipe: Recipe, parser: str) -> Recipe:
    """Return a recipe with another parser; an empty one removes the parser."""
    parts = {name: part for name, part in recipe.items() if name != _PARSER}
    return {**parts, _PARSER: parser} if parser else parts


def without_vectors(recipe: Recipe) -> Recipe:
    """Return a recipe without the vectors of the caller."""
    return {name: part for name, part in recipe.items() if name != _VECTORS}


def has_parts(record: DocumentRecord) -> bool:
    """Return whether a model or the caller supplied parts of a stored document."""
    return bool(with_parser(stored_recipe(record), ""))


def stored_recipe(record: DocumentRecord) -> Recipe:
    """Return the recipe of a stored document; empty if it has none."""
    recorded = _read(record)
    recorded.pop(_PLAIN_TITLE, None)
    return recorded


def reads_pages(record: DocumentRecord) -> bool:
    """Return whether a model read pages of a stored document, or described its figures."""
    return not {"pages", "figures"}.isdisjoint(_read(record))


def has_given_chunks(record: DocumentRecord) -> bool:
    """Return whether the caller supplied the chunks of a stored document."""
    return _CHUNKS in _read(record)


def has_given_vectors(record: DocumentRecord) -> bool:
    """Return whether the caller supplied the vectors of a stored document."""
    return _VECTORS in _read(record)


def plain_title(record: DocumentRecord) -> str:
    """Return the base title of a stored document without a title from a model."""
    return str(_read(record).get(_PLAIN_TITLE, base_title(record)))


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
