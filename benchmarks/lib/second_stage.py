"""Candidates of benchmark questions, for the training of the second stage of a search."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.datasets import Query, read_dataset
from benchmarks.lib.training import build, examples
from spanwise.core.ranking.deep import DEEP_FEATURES, DeepModel
from spanwise.core.ranking.features import FEATURES, Rows, build_rows
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.core.ranking.scan import PassageRange
from spanwise.evaluation.tuning.examples import Example
from spanwise.evaluation.tuning.fit import Known, ListwiseLoss, minimise, result_of_choice
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.embed_caller import make_embed_caller
from spanwise.models.providers import catalog, minilm
from spanwise.options import ModelOptions, SegmentOptions
from spanwise.search.deep import DeepReader
from spanwise.search.queries import search_whole
from spanwise.search.question_limits import read_questions
from spanwise.search.scoring import Scope, spread_shares
from spanwise.search.shipped_model import shipped_model

Floats = NDArray[np.float64]
BUDGETS = (1_000, 4_000)
_REWORDED = "queries.reworded.jsonl"
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Candidates of one question."""

    example: Example
    """Candidates with their evidence."""
    kind: str
    """Kind of the question: "original" or "reworded"."""
    scores: Floats
    """First score of each candidate, (c,)."""
    rows: Rows
    """Layout of the rows that were read."""
    weight: float
    """Weight in the training; both kinds of questions of a set have equal weight."""
    deep: Floats | None = None
    """Features of the second linear model, (c, DEEP_FEATURES); None without MiniLM."""

    def best(self, count: int) -> NDArray[np.int64]:
        """Return the positions of the best candidates, best first."""
        return np.argsort(-self.scores, kind="stable")[:count]


def read_candidates(
    folder: Path, out: Path, *, limit: int | None, reads: bool
) -> tuple[Candidates, ...]:
    """Return the candidates of the original and the reworded questions of a set.

    Args:
        folder: Folder of the set.
        out: Folder of the weights of `benchmarks.train`, and of the knowledge bases.
        limit: Maximum number of questions of each kind; None for all.
        reads: Whether MiniLM compares the candidates with the question.
    """
    dataset = read_dataset(folder, limit=limit)
    path = out / "second_stage" / f"{dataset.name}.kb"
    kinds = {"original": dataset.queries, "reworded": _reworded(folder)[:limit]}
    weights = out / f"relevance-without-{dataset.name}.json"
    model = shipped_model()
    if weights.exists():
        model = RelevanceModel.from_json(weights.read_text("utf-8"), features=tuple(FEATURES))
    found = []
    with KnowledgeBase(path) if path.exists() else build(dataset, path.parent) as base:
        for kind, queries in kinds.items():
            of_kind = examples(base, queries)
            for example in of_kind:
                one = Candidates(
                    example=example,
                    kind=kind,
                    scores=model.scores(example.features.astype(np.float64)),
                    rows=_layout(example),
                    weight=1 / len(of_kind),
                )
                found.append(replace(one, deep=_read(base, one, model)) if reads else one)
    print(f"{dataset.name}: {len(found)} questions", flush=True)
    return tuple(found)


def _reworded(folder: Path) -> list[Query]:
    """Return the reworded questions of a set, with the ids of the original ones."""
    path = folder / _REWORDED
    if not path.exists():
        return []
    by_id = {query.id: query for query in read_dataset(folder).queries}
    with path.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    pairs = [(str(row["query_id"]).removesuffix("-r"), str(row["query"])) for row in rows]
    return [replace(by_id[name], text=text) for name, text in pairs if name in by_id]


def _layout(example: Example) -> Rows:
    """Return the layout of the rows of an example."""
    ends = np.append(example.rows.starts[1:], len(example.rows.tokens))
    sizes = (ends - example.rows.starts).tolist()
    return build_rows([(at, PassageRange(at, 0, size)) for at, size in enumerate(sizes)])


class _Recorder(DeepModel):
    """Second model that records its features and changes nothing."""

    def __init__(self) -> None:
        column = np.zeros(len(DEEP_FEATURES))
        super().__init__(means=column, deviations=column, weights=column)
        object.__setattr__(self, "recorded", [])

    recorded: list[Floats]

    def scores(self, features: Floats) -> Floats:
        """Record the features, and return the first scores."""
        self.recorded.append(features)
        return features[:, 0]


def _read(base: KnowledgeBase, one: Candidates, model: RelevanceModel) -> Floats:
    """Return the features of the second model after the comparison by MiniLM."""
    recorder = _Recorder()
    searcher = searcher_of(base, model)
    load = partial(minilm.make_embedder, catalog.MINILM, ModelOptions())
    reader = DeepReader(load=load, cache=store_of(base), model=recorder)
    embedder = make_embed_caller(searcher.embedder, "query", cache=searcher.store)
    with searcher.store.snapshot() as snapshot:
        (question,) = read_questions([one.example.question.text], snapshot)
        hits = search_whole(
            question,
            snapshot=snapshot,
            embedder=embedder,
            model=model,
            scope=Scope(documents=one.example.question.scope),
        )
        reader.read([hits], snapshot=snapshot, seconds=math.inf)
    (features,) = recorder.recorded
    return features


def cosine_features(one: Candidates) -> Floats:
    """Return the features of the second linear model, (c, DEEP_FEATURES).

    Raises:
        ValueError: If MiniLM did not compare the candidates.
    """
    if one.deep is None:
        raise ValueError("the candidates were not compared by MiniLM")
    return one.deep


def recalls(one: Candidates, scores: Floats) -> Floats:
    """Return the recall of a default search with these scores, for each of `BUDGETS`."""
    example = one.example
    shares = spread_shares(scores, example.documents, compares=example.compares)
    return np.array(
        [
            result_of_choice(
                example, shares=shares, segments=SegmentOptions.BALANCED, budgets=[budget]
            ).recall
            for budget in BUDGETS
        ]
    )


def fit(examples: Sequence[Example], weights: Sequence[float]) -> tuple[Floats, Floats, Floats]:
    """Return the weights of a listwise linear model, and the mean and deviation of each feature.

    The weights are those of the standardised features, with a ridge penalty.

    Args:
        examples: Examples with the features of the model.
        weights: Weight of each example.
    """
    raw = np.concatenate([example.features for example in examples]).astype(np.float64)
    means, deviations = raw.mean(axis=0), raw.std(axis=0)
    deviations = np.where(deviations > 0, deviations, 1.0)
    mass = np.array(weights) / np.sum(weights)
    loss = ListwiseLoss(examples, means=means, deviations=deviations, weights=mass)
    count = len(means)
    known = Known(mean=np.zeros(count), precision=2 * _RIDGE * np.eye(count))
    return minimise(loss, known=known), means, deviations


def with_features(example: Example, features: Floats) -> Example:
    """Return an example with other features and without additions to its scores."""
    return replace(
        example,
        features=features.astype(np.float32),
        lifts=np.zeros(len(features)),
    )
