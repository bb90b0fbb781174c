"""Metrics of single questions, worked out by hand."""

from math import log2

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.metrics import METRICS, counter, score
from spanwise.evaluation.retrieval import Retrieved
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import Page

TEXTS = {
    "a": DocumentText(text="x" * 1_000),
    "b": DocumentText(text="y" * 500),
    "paged": DocumentText(
        text="z" * 400, pages=tuple(Page(start=at, end=at + 100) for at in range(0, 400, 100))
    ),
    "gaps": DocumentText(text="ab  \n\n  cd"),
}


def span(start: int, end: int, document_id: str = "a") -> Retrieved:
    return Retrieved(document_id=document_id, start=start, end=end)


def asked(*evidence: Evidence) -> LabelledQuestion:
    return LabelledQuestion(id="q", text="What?", evidence=evidence)


def piece(start: int, end: int, document_id: str = "a") -> Evidence:
    return Evidence(document_id=document_id, start=start, end=end)


ONE = asked(piece(100, 200))
TWO = asked(piece(100, 200), piece(300, 400))


def test_half_of_the_evidence_in_half_of_what_was_returned() -> None:
    found = score(ONE, [span(150, 250)], TEXTS, count=counter(make_tokenizer("chars:4")))
    expected = {
        "recall": 0.5,
        "precision": 0.5,
        "iou": 50 / 150,
        "f1": 0.5,
        "token_recall": 0.5,
        "token_precision": 0.5,
        "token_iou": 50 / 150,
        "token_f1": 0.5,
        "ev_hit50": 1,
        "ev_hit100": 0,
        "all_hit50": 1,
        "all_hit100": 0,
        "mrr": 1,
        "mrr50": 1,
        "ndcg": 0.5,
        "doc_recall": 1,
        "doc_hit1": 1,
        "doc_miss": 0,
        "wrong_doc": 0,
        "wrong_doc_chars": 0,
        "chroma_iou": 50 / 150,
        "chroma_recall": 0.5,
        "chroma_precision": 0.5,
        "dup": 0,
        "segments": 1,
        "docs": 1,
        "tokens": 25,
        "chars": 100,
        "chars_union": 100,
    }
    assert expected == pytest.approx(found)


def test_nothing_returned_is_nothing_found() -> None:
    found = score(TWO, [], TEXTS)
    assert found["doc_miss"] == 1
    assert {0.0} == {value for name, value in found.items() if name != "doc_miss"}


def test_texts_that_repeat_each_other_and_come_late() -> None:
    found = score(TWO, [span(0, 100, "b"), span(190, 310), span(100, 200), span(100, 200)], TEXTS)
    assert found["recall"] == pytest.approx(110 / 200)
    assert found["chars_union"] == 100 + 210
    assert found["dup"] == pytest.approx(1 - 310 / 420)
    assert found["mrr"] == 1 / 2
    assert found["mrr50"] == 1 / 3
    assert found["ndcg"] == pytest.approx(20 / 200 / log2(3) + 90 / 200 / log2(4))
    assert found["ev_hit100"] == 0.5
    assert found["all_hit50"] == 0
    assert found["doc_hit1"] == 0
    assert found["wrong_doc"] == 1 / 4
    assert found["wrong_doc_chars"] == pytest.approx(100 / 420)


def test_a_text_without_a_place_repeats_nothing() -> None:
    """Which characters it is, nobody knows: as repeated it counts where they are known alone."""
    unplaced = Retrieved(document_id="b", text="so it was said")
    assert score(TWO, [span(0, 100), unplaced], TEXTS)["dup"] == 0
    assert score(TWO, [span(0, 100), unplaced, span(0, 100)], TEXTS)["dup"] == 0.5
    assert score(TWO, [unplaced], TEXTS)["dup"] == 0


def test_a_text_without_a_place_was_returned_and_is_no_evidence() -> None:
    """Otherwise a retriever would gain precision by what nobody finds in the documents."""
    unplaced = Retrieved(document_id="b", text="x" * 300)
    count = counter(make_tokenizer("chars:4"))
    found = score(asked(piece(0, 100)), [span(0, 100), unplaced], TEXTS, count=count)
    for prefix in ("", "token_"):
        assert found[f"{prefix}recall"] == 1
        assert found[f"{prefix}precision"] == 0.25
        assert found[f"{prefix}iou"] == 0.25
        assert found[f"{prefix}f1"] == 0.4
    assert found["chars_union"] == 100


def test_pieces_that_overlap_count_once() -> None:
    question = asked(piece(0, 100), piece(50, 150))
    found = score(question, [span(0, 75)], TEXTS)
    assert found["recall"] == 0.5
    assert found["ev_hit50"] == 0.5
    assert found["chroma_recall"] == 75 / 200


def test_white_space_is_no_evidence_to_be_hit() -> None:
    found = score(asked(piece(0, 8, "gaps")), [span(0, 2, "gaps")], TEXTS)
    assert found["ev_hit100"] == 1
    assert found["recall"] == 0.25
    assert score(asked(piece(2, 8, "gaps")), [span(0, 9, "gaps")], TEXTS)["ev_hit50"] == 0


def test_evidence_in_several_documents() -> None:
    question = asked(piece(0, 100), piece(0, 300, "b"))
    found = score(question, [span(0, 100)], TEXTS)
    assert found["recall"] == 0.25
    assert found["doc_recall"] == 0.5
    assert found["ndcg"] == 0.25
    assert not [name for name in found if name.startswith("chroma")]


def test_evidence_on_pages() -> None:
    question = asked(Evidence(document_id="paged", page=2), Evidence(document_id="paged", page=4))
    returned = [span(0, 10), span(20, 150, "paged"), Retrieved(document_id="paged", pages=(2, 2))]
    found = score(question, returned, TEXTS)
    assert found["page_recall"] == 0.5
    assert found["page_precision"] == 0.5
    assert found["page_all_hit"] == 0
    assert found["page_mrr"] == 0.5
    assert found["pages"] == 2
    assert "recall" not in found
    assert score(question, [Retrieved(document_id="paged")], TEXTS)["page_all_hit"] == 1
    assert score(question, [span(0, 1)], TEXTS)["page_precision"] == 0


def test_pages_are_places_of_evidence_in_characters() -> None:
    question = asked(piece(50, 150, "paged"))
    found = score(question, [Retrieved(document_id="paged", pages=(1, 1))], TEXTS)
    assert found["recall"] == 0.5
    assert "page_recall" not in found


def test_evidence_known_by_its_words_alone() -> None:
    question = asked(
        Evidence(document_id="a", text="Net sales rose by 5% in 2018."),
        Evidence(document_id="b", text="cash"),
    )
    returned = [
        Retrieved(document_id="a", text="In the year, net SALES rose by"),
        Retrieved(document_id="a", text="net sales rose by"),
        Retrieved(document_id="a", text="cash"),
    ]
    found = score(question, returned, TEXTS)
    assert found["text_recall"] == pytest.approx((2 / 5 + 0) / 2)
    assert found["text_hit50"] == 0
    found = score(question, [*returned, Retrieved(document_id="b", text="Cash")], TEXTS)
    assert found["text_recall"] == pytest.approx((2 / 5 + 1) / 2)
    assert found["text_hit90"] == 0.5
    assert found["text_all_hit90"] == 0


def test_a_trigram_counts_as_often_as_one_text_holds_it() -> None:
    question = asked(Evidence(document_id="a", text="net sales rose net sales rose"))
    once, twice = "net sales rose", "net sales rose. Net sales rose"
    repeated = [Retrieved(document_id="a", text=once)] * 2
    assert score(question, repeated, TEXTS)["text_recall"] == 1 / 4
    returned = [Retrieved(document_id="a", text=twice)]
    assert score(question, returned, TEXTS)["text_recall"] == 1


def test_a_question_without_evidence_says_how_much_was_returned() -> None:
    found = [span(0, 100), span(0, 60, "b")]
    assert score(asked(), found, TEXTS) == {"chars_without_evidence": 160}
    counted = score(asked(), found, TEXTS, count=counter(make_tokenizer("chars:4")))
    assert counted == {"chars_without_evidence": 160, "tokens_without_evidence": 40}


def test_tokens_of_a_vocabulary() -> None:
    """Half a word is a token of its own: no more is shared than there is."""
    texts = {"t": DocumentText(text="Unbelievable margins of the segment")}
    count = counter(make_tokenizer("o200k_base"))
    for end in range(1, 36):
        found = score(asked(piece(0, 20, "t")), [span(0, end, "t")], texts, count=count)
        assert 0 <= found["token_recall"] <= 1
        assert 0 <= found["token_precision"] <= 1
        assert 0 <= found["token_iou"] <= 1
    whole = score(asked(piece(0, 20, "t")), [span(0, 20, "t")], texts, count=count)
    assert whole["token_f1"] == 1


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (piece(990, 1_001), "characters 990 to 1001"),
        (piece(5, 5), "characters 5 to 5"),
        (Evidence(document_id="a", start=5), "characters 5 to None"),
        (piece(0, 5, "nowhere"), "no document 'nowhere'"),
    ],
)
def test_evidence_that_is_nowhere_is_an_error(evidence: Evidence, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        score(asked(evidence), [], TEXTS)


def test_every_figure_has_words() -> None:
    count = counter(make_tokenizer("chars:4"))
    question = asked(piece(0, 10), Evidence(document_id="a", page=1, text="one two three"))
    found = {
        *score(question, [span(0, 5)], TEXTS, count=count, chunks={"a": [(0, 50)]}),
        *score(asked(), [span(0, 5)], TEXTS, count=count),
        "seconds",
        "cost",
    }
    assert found == set(METRICS)
    assert len({metric.words for metric in METRICS.values()}) == len(METRICS)
    for name, metric in METRICS.items():
        assert name == metric.name
        assert metric.meaning.endswith(".")
        assert metric.source
