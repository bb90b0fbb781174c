"""Laws of the metrics, on places of every shape."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.metrics import METRICS, counter, cut, score
from spanwise.evaluation.metrics.ranges import difference, intersection, length, union
from spanwise.evaluation.retrieval import Retrieved
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import Page

CHARS = 60
TEXTS = {
    name: DocumentText(
        text=text,
        pages=tuple(Page(start=at, end=min(CHARS, at + 25)) for at in range(0, CHARS, 25)),
    )
    for name, text in (
        ("a", ("The margin rose.  Costs\n\n fell in 2018; " * 2)[:CHARS]),
        ("b", ("Unbelievable   notices 不可 of termination. " * 2)[:CHARS]),
    )
}
COUNTS = {name: counter(make_tokenizer(name)) for name in ("chars:4", "o200k_base")}

edges = st.tuples(st.integers(0, CHARS), st.integers(0, CHARS)).map(sorted)
ranges = st.lists(edges.map(lambda pair: (pair[0], pair[1])), max_size=8)
spans = st.builds(
    lambda name, pair: Retrieved(document_id=name, start=pair[0], end=pair[1]),
    st.sampled_from("ab"),
    edges,
)
paged = st.builds(
    lambda name, pair, text: Retrieved(document_id=name, pages=(min(pair), max(pair)), text=text),
    st.sampled_from("ab"),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.none() | st.text("ab ", max_size=30),
)
loose = st.builds(
    lambda name, text: Retrieved(document_id=name, text=text),
    st.sampled_from("ab"),
    st.none() | st.text("ab ", max_size=30),
)
found_spans = st.lists(spans, max_size=6)
found_any = st.lists(spans | paged | loose, max_size=6)
pieces = st.builds(
    lambda name, pair, page: Evidence(
        document_id=name, start=pair[0], end=pair[1], page=page, text="rose costs fell"
    ),
    st.sampled_from("ab"),
    edges.filter(lambda pair: pair[0] < pair[1]),
    st.none() | st.integers(1, 3),
)
questions = st.lists(pieces, min_size=1, max_size=4).map(
    lambda evidence: LabelledQuestion(id="q", text="What?", evidence=tuple(evidence))
)
budgets = st.integers(0, 400).map(lambda quarters: quarters / 4)


def characters(places: Sequence[Retrieved | Evidence]) -> set[tuple[str, int]]:
    """Return every character by itself."""
    return {(one.document_id, at) for one in places for at in range(one.start or 0, one.end or 0)}


@given(ranges, ranges)
def test_ranges_are_sets_of_characters(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    one, other = union(first), union(second)
    for made, expected in (
        (one, _set(first)),
        (intersection(one, other), _set(first) & _set(second)),
        (difference(one, other), _set(first) - _set(second)),
    ):
        assert _set(made) == expected
        assert length(made) == len(expected)
        assert made == union(made)


def _set(some: Sequence[tuple[int, int]]) -> set[int]:
    return {at for start, end in some for at in range(start, end)}


@given(questions, found_spans)
def test_overlaps_are_those_of_sets_of_characters(
    question: LabelledQuestion, found: list[Retrieved]
) -> None:
    measured = score(question, found, TEXTS)
    evidence, returned = characters(question.evidence), characters(found)
    shared = len(evidence & returned)
    assert measured["recall"] == shared / len(evidence)
    assert measured["precision"] == (shared / len(returned) if returned else 0)
    assert measured["iou"] == shared / len(evidence | returned)
    assert measured["f1"] == 2 * shared / (len(evidence) + len(returned))
    assert measured["chars_union"] == len(returned)


@given(questions, found_spans)
def test_pieces_are_hit_by_their_written_characters(
    question: LabelledQuestion, found: list[Retrieved]
) -> None:
    returned = characters(found)
    held = []
    for piece in question.evidence:
        written = {
            (name, at) for name, at in characters([piece]) if not TEXTS[name].text[at].isspace()
        }
        held.append(len(written & returned) / len(written) if written else 0.0)
    measured = score(question, found, TEXTS)
    assert measured["ev_hit50"] == sum(share >= 0.5 for share in held) / len(held)
    assert measured["ev_hit100"] == sum(share == 1 for share in held) / len(held)
    assert measured["all_hit50"] == min(share >= 0.5 for share in held)
    assert measured["all_hit100"] == min(share == 1 for share in held)


@given(questions, found_any, st.sampled_from(sorted(COUNTS)))
def test_shares_are_shares(question: LabelledQuestion, found: list[Retrieved], name: str) -> None:
    measured = score(question, found, TEXTS, count=COUNTS[name], chunks={"a": [(0, 30), (30, 60)]})
    for metric, value in measured.items():
        assert value >= 0 or metric == "dup", metric
        if METRICS[metric].unit == "share":
            assert value <= 1 + 1e-12, metric


@given(questions, found_any, spans)
def test_more_text_loses_no_evidence(
    question: LabelledQuestion, found: list[Retrieved], more: Retrieved
) -> None:
    before = score(question, found, TEXTS)
    after = score(question, [*found, more], TEXTS)
    for metric in (
        "recall",
        "ev_hit50",
        "ev_hit100",
        "all_hit50",
        "all_hit100",
        "mrr",
        "mrr50",
        "ndcg",
        "doc_recall",
        "chroma_recall",
        "page_recall",
        "page_mrr",
    ):
        assert before.get(metric, 0) <= after.get(metric, 0) + 1e-12, metric


@given(questions, found_any, st.randoms(use_true_random=False))
def test_order_changes_ranks_alone(
    question: LabelledQuestion, found: list[Retrieved], choose: object
) -> None:
    shuffled = list(found)
    choose.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    one, other = score(question, found, TEXTS), score(question, shuffled, TEXTS)
    ranked = {"mrr", "mrr50", "ndcg", "doc_hit1", "page_mrr"}
    assert {k: v for k, v in one.items() if k not in ranked} == pytest.approx(
        {k: v for k, v in other.items() if k not in ranked}
    )


@given(questions, spans.filter(lambda one: (one.end or 0) > (one.start or 0)), st.data())
def test_a_text_in_two_parts_contains_as_much(
    question: LabelledQuestion, whole: Retrieved, data: st.DataObject
) -> None:
    start, end = whole.start or 0, whole.end or 0
    at = data.draw(st.integers(start, end))
    parts = [
        Retrieved(document_id=whole.document_id, start=low, end=high)
        for low, high in ((start, at), (at, end))
    ]
    one, other = score(question, [whole], TEXTS), score(question, parts, TEXTS)
    for metric in ("recall", "precision", "iou", "f1", "ev_hit100", "chroma_recall", "chroma_iou"):
        assert one.get(metric) == other.get(metric), metric


@given(questions, found_spans)
def test_identities(question: LabelledQuestion, found: list[Retrieved]) -> None:
    measured = score(question, found, TEXTS, count=COUNTS["chars:4"])
    for prefix in ("", "token_"):
        recall, precision = measured[f"{prefix}recall"], measured[f"{prefix}precision"]
        harmonic = 2 * recall * precision / (recall + precision) if recall else 0.0
        assert measured[f"{prefix}f1"] == pytest.approx(harmonic)
        assert measured[f"{prefix}iou"] <= min(recall, precision) + 1e-12
    assert measured["token_recall"] == pytest.approx(measured["recall"])
    for kind in ("50", "100"):
        assert measured[f"all_hit{kind}"] <= measured[f"ev_hit{kind}"]
    assert measured["ev_hit100"] <= measured["ev_hit50"]
    assert measured["mrr50"] <= measured["mrr"]
    assert measured["ndcg"] <= measured["recall"] + 1e-12
    assert measured["doc_miss"] == (measured["doc_recall"] == 0)
    assert measured["chroma_iou" if "chroma_iou" in measured else "iou"] <= 1


@given(st.lists(pieces, min_size=1, max_size=1), found_spans)
def test_the_evidence_itself_is_the_perfect_answer(
    evidence: list[Evidence], behind: list[Retrieved]
) -> None:
    piece = evidence[0]
    question = LabelledQuestion(id="q", text="What?", evidence=(piece,))
    answer = Retrieved(document_id=piece.document_id, start=piece.start, end=piece.end)
    measured = score(question, [answer], TEXTS)
    for metric in ("recall", "precision", "iou", "f1", "mrr", "mrr50", "ndcg", "doc_recall"):
        assert measured[metric] == pytest.approx(1), metric
    assert measured["chroma_iou"] == measured["doc_hit1"] == 1
    assert score(question, [answer, *behind], TEXTS)["ndcg"] == pytest.approx(1)


@given(found_any, budgets, st.sampled_from(sorted(COUNTS)))
def test_what_is_cut_fits_and_is_the_beginning(
    found: list[Retrieved], budget: float, name: str
) -> None:
    count = COUNTS[name]
    kept = cut(found, budget_tokens=budget, count=count, texts=TEXTS)
    question = LabelledQuestion(id="q", text="What?")
    spent = score(question, kept, TEXTS, count=count)["tokens_without_evidence"]
    assert spent <= budget + 1e-9
    assert cut(kept, budget_tokens=budget, count=count, texts=TEXTS) == kept
    whole = score(question, found, TEXTS, count=count)["tokens_without_evidence"]
    if whole <= budget and budget > 0:
        assert score(question, kept, TEXTS) == score(question, found, TEXTS)


@given(found_spans, budgets)
def test_a_budget_of_characters_is_filled(found: list[Retrieved], budget: float) -> None:
    kept = cut(found, budget_tokens=budget, count=COUNTS["chars:4"], texts=TEXTS)
    shown = "".join(_text(one) for one in kept)
    assert shown == "".join(_text(one) for one in found)[: int(budget * 4)]


def _text(one: Retrieved) -> str:
    return TEXTS[one.document_id].text[one.start : one.end]
