"""Settings that reproduce an evaluation, and hashes of its dependencies."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.evaluation.statistics import Sampling
from spanwise.search.tuned_options import tuning_text
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset, LabelledQuestion
    from spanwise.evaluation.retrievers import EvaluationContext
    from spanwise.types.plain import Plain

_APART = ("cli", "server", "mcp", "integrations", "testing")
"""Packages that a search cannot depend on."""
_SUFFIXES = (".py", ".json", ".toml")
_HASH_DIGITS = 16


@cache
def code_hash() -> str:
    """Return a hash of the sources and data of this package that a search can depend on.

    The version alone does not identify a state of a checkout: changed weights or code would reuse
    old results.
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix in _SUFFIXES and parts[0] not in _APART:
            digest.update(repr(parts).encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:_HASH_DIGITS]


def settings_of(
    dataset: Dataset, questions: Sequence[LabelledQuestion], context: EvaluationContext
) -> dict[str, Plain]:
    """Return the settings that reproduce an evaluation."""
    info = context.base.info()
    asked = to_plain([(one.id, one.text, one.scope, one.evidence) for one in questions])
    return {
        "dataset": dataset.name,
        "questions": len(questions),
        "questions_hash": _hash(asked),
        "documents": info.documents,
        "chunks": info.chunks,
        "documents_hash": _hash(to_plain(context.base.list())),
        "knowledge_base": dict(info.settings),
        "tokenizer": context.tokenizer.name,
        "reranker": None if context.reranker is None else context.reranker.name,
        "tuning": None if context.tuning is None else context.tuning.words,
        "seed": Sampling().seed,
        "versions": {
            "spanwise": version("spanwise"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        },
    }


def dependencies_of(
    questions: Sequence[LabelledQuestion],
    context: EvaluationContext,
    settings: Mapping[str, Plain],
) -> Plain:
    """Return all dependencies of the results besides retriever and budget."""
    searched = dict(context.searcher.store.ensure_settings({}))
    tuning = None if context.tuning is None else tuning_text(context.tuning)
    asked = to_plain([(one.text, one.scope) for one in questions])
    return [dict(settings), _hash(asked), _hash(to_plain(searched)), tuning, code_hash()]


def _hash(value: Plain) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_HASH_DIGITS]
