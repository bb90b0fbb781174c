"""Checkpoint of an evaluation: an interrupted run continues from its finished parts.

Rules:
    A part is the results of one retriever for all questions at one budget. It is stored as one line
    of JSON under a hash of its dependencies: questions, documents, settings, versions and the code
    of this package. If a dependency changes, the part is measured again.
    A part with a failed search is not stored: the failure may be temporary.
    External functions and retrievers are always measured again, because changes in them cannot be
    detected.
    A truncated or invalid line is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieved
from spanwise.evaluation.statistics import Sampling
from spanwise.search.tuned_options import tuning_text
from spanwise.types import Usage
from spanwise.types.plain import from_plain, to_plain

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import Dataset, LabelledQuestion
    from spanwise.evaluation.retrievers import EvaluationContext
    from spanwise.types.plain import Plain


_APART = ("cli", "server", "mcp", "integrations", "testing")
"""Subpackages that cannot affect a search."""
_SUFFIXES = (".py", ".json", ".toml")
_HASH_DIGITS = 16


@cache
def code_hash() -> str:
    """Return a hash of the source and data files of this package that can affect a search.

    The version number is not sufficient: code and weights of a checkout change between versions.
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
    """Return the settings needed to reproduce an evaluation."""
    info = context.base.info()
    asked = to_plain(
        [(question.id, question.text, question.scope, question.evidence) for question in questions]
    )
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
    """Return the dependencies of the results, except for the retriever and the budget."""
    searched = dict(context.searcher.store.ensure_settings({}))
    tuning = None if context.tuning is None else tuning_text(context.tuning)
    asked = to_plain([(question.text, question.scope) for question in questions])
    return [dict(settings), _hash(asked), _hash(to_plain(searched)), tuning, code_hash()]


def _hash(value: Plain) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_HASH_DIGITS]


_FILE = "measured.jsonl"
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """Result of one search of a retriever."""

    found: tuple[Retrieved, ...]
    """Returned texts, best first, truncated to the budget."""
    seconds: float
    """Time of the search, in seconds."""
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    key: str
    rows: tuple[SearchOutcome, ...]


class Checkpoint:
    """File with the finished parts of evaluations; without a folder, nothing is stored."""

    def __init__(self, folder: Path | None, *, depends_on: Plain) -> None:
        """Read the file.

        Args:
            folder: Folder of the file, created if missing; None to store nothing.
            depends_on: Dependencies of all parts (`dependencies_of`).

        Raises:
            OptionError: If the folder cannot be created, or the file cannot be read.
        """
        self._path = None if folder is None else folder / _FILE
        self._depends_on = depends_on
        self._parts: dict[str, tuple[SearchOutcome, ...]] = {}
        if folder is None or self._path is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        except OSError as error:
            raise OptionError(
                f"the work folder {str(folder)!r} cannot be used: {error}; name another one"
            ) from error
        for line in lines:
            part = _read(line)
            if part is not None:
                self._parts[part.key] = part.rows

    def get(self, retriever: str, budget_tokens: int) -> tuple[SearchOutcome, ...] | None:
        """Return a finished part in the order of the questions; None if it is not stored."""
        return self._parts.get(self._key(retriever, budget_tokens))

    def put(self, retriever: str, budget_tokens: int, rows: Sequence[SearchOutcome]) -> None:
        """Store a finished part and sync it to disk.

        Raises:
            OptionError: If the file cannot be written.
        """
        if self._path is None:
            return
        part = _Part(key=self._key(retriever, budget_tokens), rows=tuple(rows))
        line = json.dumps(to_plain(part), ensure_ascii=False, separators=(",", ":"))
        try:
            with self._path.open("ab") as stream:
                # The leading line feed ends a line that was truncated by a crash.
                stream.write(b"\n" + line.encode("utf-8") + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OptionError(
                f"{str(self._path)!r} cannot be written: {error}; name another work folder"
            ) from error

    def _key(self, retriever: str, budget_tokens: int) -> str:
        parts = [_FORMAT, self._depends_on, retriever, budget_tokens]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _read(line: bytes) -> _Part | None:
    """Return the part stored in a line; None for an empty or invalid line."""
    try:
        return from_plain(_Part, json.loads(line))
    except ValueError:
        return None
