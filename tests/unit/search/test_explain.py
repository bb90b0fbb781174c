"""Explanation of a search."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from tests.explanations import QUESTION, chosen, chosen_again, filled_base

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.core.ranking.features import FEATURE_GROUPS, FEATURES
from spanwise.search.explanation import Explanation
from spanwise.search.shipped_model import shipped_model

BUDGET = 600


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with filled_base() as base:
        yield base


@pytest.fixture(scope="module")
def explanation(base: KnowledgeBase) -> Explanation:
    return base.explain(QUESTION, budget_tokens=BUDGET)


def test_the_result_is_that_of_search(base: KnowledgeBase, explanation: Explanation) -> None:
    result = base.search(QUESTION, budget_tokens=BUDGET)
    plain, explained = result.to_dict(), explanation.result.to_dict()
    assert plain.pop("seconds") != []
    assert explained.pop("seconds") != []
    assert explained == plain


def test_its_numbers_lead_to_the_same_segments(explanation: Explanation) -> None:
    assert len(chosen(explanation)) > 1
    assert chosen_again(explanation) == chosen(explanation)


def test_the_groups_contain_each_feature_once() -> None:
    members = [name for names in FEATURE_GROUPS.values() for name in names]
    assert sorted(members) == sorted(FEATURES)


def test_scores_are_sums_of_contributions_and_shares_their_softmax(
    explanation: Explanation,
) -> None:
    scores = [one.scores[0] for one in explanation.candidates if one.scores]
    assert len(scores) == explanation.result.candidates
    for one in scores:
        assert one.score == pytest.approx(sum(one.contributions.values()))
        assert one.spread <= 0
    assert sum(one.share for one in scores) == pytest.approx(1)
    best, other = scores[0], scores[1]
    left = (best.score + best.spread) - (other.score + other.spread)
    assert math.log(best.share / other.share) == pytest.approx(left)


def test_typical_contributions_are_means_over_candidates(explanation: Explanation) -> None:
    scores = [one.scores[0].contributions["words"] for one in explanation.candidates if one.scores]
    assert explanation.typical[0]["words"] == pytest.approx(sum(scores) / len(scores))


def test_candidates_are_ordered_by_share_and_list_their_words(explanation: Explanation) -> None:
    shares = [one.share for one in explanation.candidates if one.scores]
    assert shares == sorted(shares, reverse=True)
    best = explanation.candidates[0]
    assert {"margin", "mill"} <= set(best.terms)
    assert "margin" in best.text
    assert best.scores[0].keyword > 0


def test_every_chunk_of_a_segment_has_its_rank(explanation: Explanation) -> None:
    inside = Counter(one.segment for one in explanation.candidates if one.segment is not None)
    expected = {s.rank: s.last_chunk - s.first_chunk for s in explanation.result.segments}
    assert dict(inside) == expected
    for one in explanation.candidates:
        if one.decision == "segment":
            assert one.segment is not None
            assert one.reason == f"in segment {one.segment + 1}"


def test_a_full_budget_differs_from_worthless_chunks(explanation: Explanation) -> None:
    decisions = {one.decision for one in explanation.candidates}
    assert {"segment", "budget"} <= decisions
    for one in explanation.candidates:
        if one.decision == "budget":
            assert one.reason == f"worth taking, but the budget of {BUDGET} tokens is full"
        if one.decision == "price":
            assert one.value <= 0
        elif one.decision not in ("bridge", "copy"):
            assert one.value > 0


def test_a_larger_budget_takes_the_excluded_chunks(
    base: KnowledgeBase, explanation: Explanation
) -> None:
    kept_out = {
        (one.document_id, one.chunk)
        for one in explanation.candidates
        if one.decision in ("budget", "segment")
    }
    roomy = base.explain(QUESTION, budget_tokens=100_000)
    taken = {(one.document_id, one.chunk) for one in roomy.candidates if one.decision == "segment"}
    assert kept_out >= taken


def test_a_gap_inside_a_segment_is_bridged(base: KnowledgeBase) -> None:
    options = SegmentOptions(segment_charge=0.1, token_price=0.05)
    explanation = base.explain(QUESTION, segment_options=options)
    bridges = [one for one in explanation.candidates if one.decision == "bridge"]
    assert bridges
    assert all(one.value <= 0 and one.reason.startswith("bridges a gap") for one in bridges)


@pytest.mark.parametrize(
    ("options", "decision"),
    [
        (SegmentOptions(segment_charge=0.2, token_price=0.1), "charge"),
        (SegmentOptions(min_segment_value=0.2, token_price=0.1), "minimum"),
        (SegmentOptions(max_segment_tokens=120, segment_charge=0.1), "longest"),
    ],
)
def test_other_limits_are_named(
    base: KnowledgeBase, options: SegmentOptions, decision: str
) -> None:
    explanation = base.explain(QUESTION, budget_tokens=10_000, segment_options=options)
    assert decision in {one.decision for one in explanation.candidates}
    assert chosen_again(explanation) == chosen(explanation)


def test_near_identical_chunks_name_the_one_that_is_shown() -> None:
    clause = (
        "Gross margin of the mill fell because freight by road cost more than in the year before, "
        "and because the locks on the river were closed for the whole of the winter season."
    )
    with filled_base() as base:
        for name in ("a", "b", "c"):
            base.add_text(f"Notes of {name}.\n\n{clause}", document_id=name)
        explanation = base.explain(QUESTION)
    copies = [one for one in explanation.candidates if one.decision == "copy"]
    shown = {one.document_id for one in explanation.result.segments}
    assert copies
    for one in copies:
        assert one.copy_of is not None
        assert one.copy_of[0] in shown
        assert one.share == 0
        assert one.copy_of[0] in one.reason
    assert json.loads(json.dumps(explanation.to_dict()))["candidates"]


def test_several_queries_have_scores_each(base: KnowledgeBase) -> None:
    explanation = base.explain(QUESTION, more_queries=["When do the locks close?"])
    assert set(explanation.typical) == {0, 1}
    assert explanation.result.queries == (QUESTION, "When do the locks close?")
    seen = {scores.query for one in explanation.candidates for scores in one.scores}
    assert seen == {0, 1}
    assert chosen_again(explanation) == chosen(explanation)


def test_refused_chunks_have_a_reason() -> None:
    with filled_base(2) as base:
        explanation = base.explain("How do quantum computers factor integers?", abstain=True)
    assert explanation.result.not_found
    assert explanation.candidates[0].segment is None
    assert "segment" not in {one.decision for one in explanation.candidates}


def test_the_greedy_method_is_explained_as_such(base: KnowledgeBase) -> None:
    explanation = base.explain(QUESTION, method="greedy", preset="dsrag-balanced")
    assert explanation.terms.choice == "greedy"
    assert {one.decision for one in explanation.candidates} <= {
        "segment", "bridge", "copy", "method",
    }  # fmt: skip


def test_a_document_that_is_given_whole_is_explained_as_such(base: KnowledgeBase) -> None:
    explanation = base.explain(
        QUESTION,
        documents=["reports/1"],
        segment_options=SegmentOptions(token_price=0.0),
    )
    (segment,) = explanation.result.segments
    assert explanation.terms.choice == "whole"
    assert segment.last_chunk == explanation.documents[0].chunks
    assert {one.decision for one in explanation.candidates} == {"whole"}
    (reason,) = {one.reason for one in explanation.candidates}
    assert reason == "in segment 1: its document fits whole, so it is returned whole"
    assert "it is returned whole. The sliders choose exactly." in explanation.to_html()


def test_words_of_a_question_in_several_languages_are_named_as_asked() -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(
            "Die Bruttomarge der Mühle fiel, weil die Frachten teurer waren als im Jahr davor. "
            "Das Getreide kam auf dem Fluss, und die Schleusen waren im Winter geschlossen.",
            document_id="de",
        )
        base.add_text("The mills lost margin when freight by road cost more.", document_id="en")
        base.add_text("面粉厂的毛利率下降，因为运费比前一年更高。", document_id="zh")
        german = base.explain("Warum fielen die Bruttomargen der Mühlen?")
        chinese = base.explain("为什么毛利率下降？")
    held = {one.document_id: one.terms for one in german.candidates}
    assert {"fielen", "Bruttomargen", "Mühlen"} <= set(held["de"])
    assert [one.document_id for one in chinese.candidates if one.terms] == ["zh"]


def test_an_empty_knowledge_base_has_an_empty_explanation() -> None:
    with KnowledgeBase(":memory:") as base:
        explanation = base.explain(QUESTION)
    assert (explanation.documents, explanation.candidates) == ((), ())
    assert "Nothing was found" in explanation.to_html()


def test_without_an_embedder_there_is_no_cosine() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("Gross margin of the mill fell.", document_id="a")
        explanation = base.explain(QUESTION)
    assert [scores.cosine for one in explanation.candidates for scores in one.scores] == [0.0]


def test_why_gathers_features_against_the_mean(explanation: Explanation) -> None:
    best = explanation.candidates[0]
    amounts = dict(explanation.why(best))
    features = ("document", "best_chunk")
    typical, own = explanation.typical[0], best.scores[0].contributions
    expected = sum(own[name] - typical[name] for name in features)
    assert amounts["document matches the question"] == pytest.approx(expected)
    total = best.scores[0].score - sum(typical.values()) + best.scores[0].spread
    assert sum(amounts.values()) == pytest.approx(total)
    assert [amount for _, amount in explanation.why(best)] == sorted(amounts.values(), reverse=True)


def test_documents_are_ordered_by_their_best_segment(explanation: Explanation) -> None:
    ranks = {
        document.document_id: min(
            (s.rank for s in explanation.result.segments if s.document_id == document.document_id),
            default=99,
        )
        for document in explanation.documents
    }
    assert list(ranks.values()) == sorted(ranks.values())
    shares = [share for one in explanation.documents for run in one.runs for share in run.shares]
    assert sum(shares) == pytest.approx(1)


def test_the_table_maps_relevance_to_share(explanation: Explanation) -> None:
    shares, relevances = zip(*explanation.terms.table, strict=True)
    assert shares[3] == shipped_model().shares_at(np.array([relevances[3]]))[0]
