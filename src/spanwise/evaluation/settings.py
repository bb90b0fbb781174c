"""What repeats an evaluation, and what its parts depend on."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from spanwise.evaluation.code import code_hash
from spanwise.evaluation.statistics import Sampling
from spanwise.plain import to_plain
from spanwise.query.tuning import tuning_text

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset, LabelledQuestion
    from spanwise.evaluation.retrievers import Material
    from spanwise.plain import Plain

__all__ = ["dependencies_of", "settings_of"]

_HASH_DIGITS = 16


def settings_of(
    dataset: Dataset, questions: Sequence[LabelledQuestion], material: Material
) -> dict[str, Plain]:
    """Return what repeats the evaluation."""
    info = material.base.info()
    asked = to_plain([(one.id, one.text, one.scope, one.evidence) for one in questions])
    return {
        "dataset": dataset.name,
        "questions": len(questions),
        "questions_hash": _hash(asked),
        "documents": info.documents,
        "chunks": info.chunks,
        "documents_hash": _hash(to_plain(material.base.list())),
        "knowledge_base": dict(info.settings),
        "tokenizer": material.tokenizer.name,
        "reranker": None if material.reranker is None else material.reranker.name,
        "tuning": None if material.tuning is None else material.tuning.words,
        "seed": Sampling().seed,
        "versions": {
            "spanwise": version("spanwise"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        },
    }


def dependencies_of(
    questions: Sequence[LabelledQuestion], material: Material, settings: Mapping[str, Plain]
) -> Plain:
    """Return all that the places that are found depend on, beside retriever and budget."""
    searched = dict(material.searcher.store.ensure_settings({}))
    tuning = None if material.tuning is None else tuning_text(material.tuning)
    asked = to_plain([(one.text, one.scope) for one in questions])
    return [dict(settings), _hash(asked), _hash(to_plain(searched)), tuning, code_hash()]


def _hash(value: Plain) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_HASH_DIGITS]
