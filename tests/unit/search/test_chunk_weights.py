"""Chunks of a caller are scored like those of a store."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import weigh_chunks
from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.question import read_question
from spanwise.core.text.terms import text_terms
from spanwise.errors import OptionError, QueryError
from spanwise.search.scoring import Scope, score_chunks
from spanwise.search.shipped_model import shipped_model
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import DocumentEntry
from spanwise.types import Chunk, Document, Section

QUESTION = "Why did the gross margin fall?"
TEXTS = [
    ["Sales rose in spring.", "Gross margin fell because freight cost more.", "Staff grew."],
    ["The weather was mild.", "Rain fell in May."],
    ["Margins of error are given below.", "Gross and net weights differ.", "Nothing else."],
]
TITLES = ["Report of the mill", "Diary", "Handbook"]


class Letters:
    """Counts letters: an embedder whose cosines are easily made again."""

    name = "test:letters"
    version = "1"
    dimension = 26

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = [[text.lower().count(letter) for letter in letters] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(len(texts), 26)


def entry(number: int, texts: Sequence[str], *, title: str, embedded: bool) -> DocumentEntry:
    """Return a document whose chunks are some texts."""
    whole = "".join(texts)
    ends = np.cumsum([len(text) for text in texts]).tolist()
    return DocumentEntry(
        document=Document(id=str(number), text=whole, title=title),
        title=title,
        summary="",
        title_words=title,
        sections=(Section(start=0, end=len(whole), title=title, path=(title,)),),
        chunks=tuple(
            Chunk(index=at, start=end - len(text), end=end, section=0, tokens=5, text=text)
            for at, (text, end) in enumerate(zip(texts, ends, strict=True))
        ),
        vectors=Letters().embed(texts) if embedded else None,
    )


@pytest.mark.parametrize("embedded", [False, True])
def test_they_are_weighed_as_a_store_would(*, embedded: bool) -> None:
    """Shares, relevances, candidates and features equal those of a search of a store."""
    lengths = [len(text_terms(text)) for texts in TEXTS for text in texts]
    store = MemoryStore()
    store.ensure_settings(
        {"dimension": "26" if embedded else "0", "reference_terms": str(np.mean(lengths))}
    )
    for number, (texts, title) in enumerate(zip(TEXTS, TITLES, strict=True)):
        store.put_document(entry(number, texts, title=title, embedded=embedded))
    with store.snapshot() as snapshot:
        expected = score_chunks(
            read_question(QUESTION),
            snapshot=snapshot,
            embedder=Letters() if embedded else None,
            model=shipped_model(),
            scope=Scope(),
        )
    assert expected is not None
    similarities = None
    if embedded:
        vector = Letters().embed([QUESTION])[0]
        similarities = [
            [float(a @ vector / np.linalg.norm(a) / np.linalg.norm(vector)) for a in rows]
            for rows in (Letters().embed(texts) for texts in TEXTS)
        ]
    weights = weigh_chunks(QUESTION, TEXTS, titles=TITLES, similarities=similarities)
    tolerance = 5e-3 if embedded else 0  # a store keeps vectors in bytes
    shares = np.zeros(8)
    starts = np.array([0, 3, 5])
    places = starts[[span.handle - 1 for span in expected.ranges]][
        np.repeat(np.arange(len(expected.ranges)), expected.rows.lengths)
    ]
    shares[places + expected.rows.chunks] = expected.shares
    assert np.abs(np.concatenate(weights.shares) - shares).max() <= tolerance
    assert weights.features.shape == expected.features.shape
    if not embedded:
        assert np.array_equal(weights.features, expected.features)
        assert [c for _, c in weights.candidates] == expected.rows.chunks[
            expected.candidates
        ].tolist()


def test_weights_are_grouped_by_document() -> None:
    weights = weigh_chunks(QUESTION, TEXTS, titles=TITLES)
    assert [len(row) for row in weights.shares] == [3, 2, 3]
    assert [len(row) for row in weights.relevances] == [3, 2, 3]
    assert sum(row.sum() for row in weights.shares) == pytest.approx(1)
    assert int(np.argmax(weights.relevances[0])) == 1
    assert weights.relevances[0][1] == max(row.max() for row in weights.relevances)
    assert len(weights.features) == len(weights.candidates)


def test_a_flat_list_is_one_document() -> None:
    one = weigh_chunks(QUESTION, TEXTS[0], titles=["Report"], similarities=[0.1, 0.9, 0.2])
    other = weigh_chunks(QUESTION, [TEXTS[0]], titles=["Report"], similarities=[[0.1, 0.9, 0.2]])
    assert one.shares[0].tolist() == other.shares[0].tolist()


def test_similarities_count() -> None:
    """Of two chunks with the same words, the one with the greater cosine has the greater share."""
    texts = ["Gross margin fell.", "Nothing.", "Nothing.", "Nothing.", "Gross margin fell."]
    weights = weigh_chunks(QUESTION, texts, similarities=[0.1, 0.0, 0.0, 0.0, 0.9])
    assert weights.shares[0][4] > weights.shares[0][0]


def test_similarities_belong_to_their_chunks_where_documents_are_not_read() -> None:
    """The first document is found by neither search: its chunks take no similarity of another."""
    chunks = [["Rain."] * 10, ["Snow."] * 450]
    similarities = [[0.0] * 10, [0.1] * 450]
    similarities[1][7] = 0.9
    weights = weigh_chunks("margin", chunks, similarities=similarities)
    assert not weights.shares[0].any()
    assert int(np.argmax(weights.shares[1])) == 7


def test_titles_count() -> None:
    texts = [["The margin fell."], ["The margin fell."]]
    weights = weigh_chunks("margin of the mill", texts, titles=["Diary", "Mill"])
    assert weights.shares[1][0] > weights.shares[0][0]


def test_documents_are_read_in_their_languages() -> None:
    """German words are stemmed as German: singular and plural match."""
    german = [
        "Der Regen fiel im Mai, und es war kalt.",
        "Die Preise der Häuser sind gestiegen, weil es in der Stadt zu wenige gibt.",
        "Die Schule und die Straße werden in diesem Jahr gebaut.",
    ]
    weights = weigh_chunks("Was kostet ein Haus?", [german, TEXTS[0]])
    assert int(np.argmax(weights.shares[0])) == 1


@pytest.mark.parametrize("chunks", [[], [[]], [[], ["Rain."]], ["Rain."]])
def test_without_matching_words_all_shares_are_zero(chunks: list[str]) -> None:
    weights = weigh_chunks("margin", chunks)
    assert all(not row.any() for row in (*weights.shares, *weights.relevances))
    assert weights.candidates == ()
    assert weights.features.shape == (0, len(FEATURES))


def test_a_long_question_uses_its_most_informative_words() -> None:
    question = " ".join(f"word{number}" for number in range(100))
    weights = weigh_chunks(question, ["word7 stands here.", "word8 stands here.", "Nothing."])
    assert weights.shares[0][2] < weights.shares[0][0]


def test_a_question_without_words_is_rejected() -> None:
    with pytest.raises(QueryError, match="ask in at least one word"):
        weigh_chunks("...", TEXTS)


def test_titles_that_do_not_match_are_rejected() -> None:
    with pytest.raises(OptionError, match="1 titles and 3 documents"):
        weigh_chunks(QUESTION, TEXTS, titles=["Report"])
    with pytest.raises(OptionError, match="titles are the text 'Report'"):
        weigh_chunks(QUESTION, TEXTS[0], titles="Report")
    with pytest.raises(OptionError, match="chunks are the text 'Report'"):
        weigh_chunks(QUESTION, "Report")


@pytest.mark.parametrize(
    ("similarities", "said"),
    [([[0.1], [0.2, 0.3], [0.1] * 3], r"\[1, 2, 3\] similarities and \[3, 2, 3\] chunks"),
     ([[2.0] * 3, [0.2, 0.3], [0.1] * 3], r"outside \[-1, 1\]"),
     ([[float("nan")] * 3, [0.2, 0.3], [0.1] * 3], r"outside \[-1, 1\]"),
     ([["high", "low", "low"], [0.2, 0.3], [0.1] * 3], r"similarities .*'high', 'low'.*numbers"),
     ([[[0.1]] * 3, [0.2, 0.3], [0.1] * 3], r"similarities .*\[\[0\.1\], .*list of numbers")],
)  # fmt: skip
def test_similarities_that_do_not_match_are_rejected(
    similarities: list[list[Any]], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        weigh_chunks(QUESTION, TEXTS, similarities=similarities)


def test_sections_are_identified_by_index() -> None:
    texts = ["Sales rose.", "Gross margin fell.", "Staff grew.", "Rain fell.", "Trees grew."]
    one = weigh_chunks(QUESTION, texts)
    same = weigh_chunks(QUESTION, texts, sections=[0] * 5)
    assert one.features.tolist() == same.features.tolist()
    two = weigh_chunks(QUESTION, texts, sections=[0, 0, 1, 1, 1])
    best = two.features[:, list(FEATURES).index("section_best")]
    assert best[0] == best[1] > best[2] == best[3] == best[4]
    with pytest.raises(OptionError, match=r"\[2\] sections and \[5\] chunks"):
        weigh_chunks(QUESTION, texts, sections=[0, 1])


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ([0, 0.5, 1], "a section is 0.5; give its index, a whole number"),
        ([0, float("nan"), 1], "a section is nan"),
        ([0, float("inf"), 1], "a section is inf"),
        (["Sales", "Margin", "Staff"], r"sections .*\['Sales', 'Margin', 'Staff'\].*numbers"),
        ([0, None, 1], r"sections .*\[0, None, 1\].*numbers"),
    ],
)
def test_sections_that_are_no_index_are_rejected(sections: list[Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        weigh_chunks(QUESTION, TEXTS[0], sections=sections)


def test_mixed_texts_and_documents_are_rejected() -> None:
    mixed: list[str] = ["Sales rose in spring.", ["Gross margin fell."]]  # type: ignore[list-item]
    with pytest.raises(OptionError, match="of 2 chunks 1 are texts"):
        weigh_chunks(QUESTION, mixed)
