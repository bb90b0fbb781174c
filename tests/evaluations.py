"""Evaluations as a run gives them, made up without a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.results import Evaluation, Scored
from spanwise.evaluation.retrieval import Retrieved

__all__ = ["BUDGETS", "METHODS", "made_evaluation", "made_texts", "with_unanswerable"]

BUDGETS = (1_000, 4_000)
METHODS = {"exact+headers": 0.72, "top-k+headers": 0.6, "bm25": 0.45}
"""Methods, and the part of a question's evidence that each finds at the smaller budget."""
_KINDS = ("number", "reason", "comparison")
_SENTENCE = "Freight by road cost more than in the year before, as note {} of report {} says. "


def made_texts(documents: int = 4, *, sentences: int = 60) -> dict[str, DocumentText]:
    """Return texts of documents, all of one form."""
    return {
        f"report-{number}.txt": DocumentText(
            text="".join(_SENTENCE.format(place, number) for place in range(sentences))
        )
        for number in range(documents)
    }


def made_evaluation(
    questions: int = 24,
    *,
    datasets: Sequence[str] = ("filings", "contracts"),
    methods: Mapping[str, float] = METHODS,
    budgets: Sequence[int] = BUDGETS,
    seed: int = 3,
) -> Evaluation:
    """Return an evaluation whose figures are drawn at random around what each method is given."""
    draw = np.random.default_rng(seed)
    texts = made_texts()
    scores = []
    for number in range(questions):
        dataset = datasets[number % len(datasets)]
        question = _question(number, texts)
        luck = draw.normal(0, 0.25)
        for method, part in methods.items():
            for budget in budgets:
                reach = part + luck + draw.normal(0, 0.1) + 0.2 * (budget > budgets[0])
                recall = float(min(max(round(reach, 2), 0.0), 1.0))
                scores.append(_scored(dataset, question, method, budget, recall))
    return Evaluation(
        scores=tuple(scores),
        tokenizer="chars:4",
        settings={"command": "spanwise eval questions.jsonl --kb reports.kb", "spanwise": "1.0"},
    )


def with_unanswerable(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation in which every fourth question, from the first, has no evidence."""
    ids = dict.fromkeys(score.question.id for score in evaluation.scores)
    bare = set(list(ids)[::4])
    scores = (
        replace(
            score,
            question=replace(score.question, evidence=()),
            metrics={"tokens_without_evidence": score.metrics["tokens"]},
        )
        if score.question.id in bare
        else score
        for score in evaluation.scores
    )
    return replace(evaluation, scores=tuple(scores))


def _question(number: int, texts: Mapping[str, DocumentText]) -> LabelledQuestion:
    document = f"report-{number % len(texts)}.txt"
    start = 200 + 40 * (number % 17)
    return LabelledQuestion(
        id=f"q{number}",
        text=f"Why did freight cost more, as report {number % len(texts)} has it, number {number}?",
        answer="Road freight became dearer.",
        evidence=(Evidence(document_id=document, start=start, end=start + 160),),
        metadata={"kind": _KINDS[number % len(_KINDS)]},
    )


def _scored(
    dataset: str, question: LabelledQuestion, method: str, budget: int, recall: float
) -> Scored:
    (evidence,) = question.evidence
    assert evidence.start is not None
    found = [Retrieved(document_id="report-0.txt", start=2_000, end=2_000 + budget // 10)]
    if recall:
        end = evidence.start + round(160 * recall)
        found.insert(
            0, Retrieved(document_id=evidence.document_id, start=evidence.start - 50, end=end)
        )
    metrics = {
        "recall": recall,
        "precision": recall / 10,
        "iou": recall / 11,
        "all_hit50": float(recall >= 0.5),
        "mrr": float(recall > 0),
        "wrong_doc": 1 / len(found),
        "segments": float(len(found)),
        "tokens": budget * 0.9,
    }
    return Scored(
        dataset=dataset,
        question=question,
        retriever=method,
        budget_tokens=budget,
        found=tuple(found),
        metrics=metrics,
        seconds=0.02 + len(method) / 1_000,
    )
