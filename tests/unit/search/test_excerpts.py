"""From a question to excerpts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from spanwise import KnowledgeBase
from spanwise.errors import OptionError, QueryError
from spanwise.options import ExcerptOptions, SegmentOptions
from spanwise.types import Excerpt

QUESTION = "Why did gross margin fall?"
ANSWER = "Gross margin fell because of freight costs in the third quarter."


def filler(topic: str, count: int, *, start: int = 0) -> str:
    """Return sentences about something else."""
    numbers = range(start, start + count)
    return " ".join(f"The {topic} of place {n} is described in its own report." for n in numbers)


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    """Give an empty knowledge base that counts four characters as a token."""
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        yield base


def ranges(excerpt: Excerpt) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in excerpt.spans]


def test_a_document_that_fits_is_given_whole(base: KnowledgeBase) -> None:
    text = f"{filler('weather', 20)}\n\n{ANSWER}\n\n{filler('harvest', 20)}"
    base.add_text(text, document_id="small", title="Small")
    options = SegmentOptions(token_price=1.0)
    (excerpt,) = base.excerpts(QUESTION, segment_options=options).excerpts
    assert excerpt.is_whole
    assert [span.is_evidence for span in excerpt.spans] == [False, True, False]
    assert "".join(span.text for span in excerpt.spans) == text
    assert "left out" not in excerpt.text


def test_the_first_line_of_a_document_has_no_section_path(base: KnowledgeBase) -> None:
    text = f"# Report of the mill\n\n## Letter\n\n{ANSWER}\n\n## Outlook\n\n{filler('harvest', 5)}"
    base.add_text(text, document_id="mill", media_type="text/markdown", title="Report of the mill")
    (excerpt,) = base.excerpts(QUESTION).excerpts
    assert excerpt.text == text


def test_the_tokens_left_are_spent_on_text_around(base: KnowledgeBase) -> None:
    text = f"{filler('weather', 60)}\n\n{ANSWER}\n\n{filler('harvest', 60)}"
    base.add_text(text, document_id="long", title="Long")
    result = base.excerpts(QUESTION, excerpts=1, excerpt_tokens=400)
    (excerpt,) = result.excerpts
    assert 380 <= excerpt.tokens <= 400
    assert ANSWER in excerpt.text
    assert len(result.context) / 4 <= result.tokens <= 400
    assert excerpt.text.endswith("report.")


def test_gaps_between_parts_are_marked(base: KnowledgeBase) -> None:
    text = f"{ANSWER}\n\n{filler('weather', 150)}\n\nThe gross margin fell again.\n\n"
    base.add_text(text + filler("harvest", 20), document_id="long")
    (excerpt,) = base.excerpts(QUESTION, excerpts=1, excerpt_tokens=500, preset="precise").excerpts
    gap = excerpt.text.split("[... ")[1].split(" characters left out ...]")[0]
    assert int(gap.replace(",", "")) == excerpt.citation.end - excerpt.citation.start - sum(
        len(span.text) for span in excerpt.spans
    )


def test_excerpts_of_one_document_are_disjoint_and_consecutive(
    base: KnowledgeBase,
) -> None:
    parts = [f"{ANSWER} {filler('weather', 25, start=100 * n)}" for n in range(6)]
    base.add_text("\n\n".join(parts), document_id="long")
    result = base.excerpts(QUESTION, excerpts=3, excerpt_tokens=300)
    assert len(result.excerpts) == 3
    bounds = sorted((ranges(e)[0][0], ranges(e)[-1][1]) for e in result.excerpts)
    assert all(end <= start for (_, end), (start, _) in pairwise(bounds))
    assert all(excerpt.tokens >= 0.95 * 300 for excerpt in result.excerpts)


def test_excerpts_of_one_stretch_follow_each_other_without_loss(base: KnowledgeBase) -> None:
    text = " ".join(f"Gross margin fell in region {n} because of freight." for n in range(120))
    base.add_text(text, document_id="dense")
    result = base.excerpts(QUESTION, excerpts=4, excerpt_tokens=250, headers=False)
    assert [excerpt.tokens >= 0.95 * 250 for excerpt in result.excerpts] == [True] * 4
    shown = sorted(span for excerpt in result.excerpts for span in ranges(excerpt))
    assert all(a[1] <= b[0] for a, b in pairwise(shown))


def test_better_documents_come_before_a_second_excerpt(base: KnowledgeBase) -> None:
    for name, cause in (("one", "freight"), ("two", "wages and rents"), ("three", "a flood")):
        text = f"Gross margin did fall in {name} because of {cause}.\n\n{filler(name, 60)}"
        base.add_text(text, document_id=name)
    result = base.excerpts(QUESTION, excerpts=2, excerpt_tokens=200)
    assert sorted(excerpt.document_id for excerpt in result.excerpts) == ["one", "two"]
    assert min(excerpt.tokens for excerpt in result.excerpts) >= 190


def test_each_query_gets_an_excerpt(base: KnowledgeBase) -> None:
    base.add_text(f"{ANSWER} {ANSWER[:-1]} again.\n\n{filler('weather', 60)}", document_id="margin")
    base.add_text(f"{filler('harvest', 60)}\n\nTides delay the ferry.", document_id="ferry")
    result = base.excerpts(
        QUESTION,
        more_queries=["What delays the ferry?"],
        excerpts=2,
        excerpt_tokens=200,
    )
    served = {excerpt.document_id: excerpt.queries for excerpt in result.excerpts}
    assert served == {"margin": (0,), "ferry": (1,)}
    assert result.queries == (QUESTION, "What delays the ferry?")


@pytest.mark.parametrize("tokens", [2, 20, 60, 100])
def test_an_excerpt_too_small_for_its_header_has_the_best_sentence(
    base: KnowledgeBase, tokens: int
) -> None:
    base.add_text(f"{ANSWER}\n\n{filler('weather', 40)}", document_id="long", title="A title")
    result = base.excerpts(QUESTION, excerpt_tokens=tokens)
    (excerpt,) = result.excerpts
    assert 0 < result.tokens <= tokens
    assert 0 < excerpt.tokens <= tokens
    (span,) = excerpt.spans
    assert base.get("long").text[span.start : span.end] == span.text
    assert span.text.strip() in ANSWER or ANSWER in span.text
    assert any(f"excerpt is {tokens}" in warning for warning in result.warnings)


def test_documents_without_room_are_a_warning(base: KnowledgeBase) -> None:
    base.add_text(f"{ANSWER}\n\n{filler('weather', 40)}", document_id="short", title="Short")
    other = "In the south gross margin fell too: wages rose, a flood closed the road."
    base.add_text(f"{other}\n\n{filler('x', 40)}", document_id="long", title="Long " * 60)
    result = base.excerpts(QUESTION, excerpt_tokens=200)
    assert {excerpt.document_id for excerpt in result.excerpts} == {"short"}
    assert "of 1 of the documents" in result.warnings[-1]


@pytest.mark.parametrize("tokenizer", ["chars:4", "o200k_base"])
def test_a_long_line_without_ends_is_cut_between_words(tokenizer: str) -> None:
    text = "weather " * 30_000 + "gross margin fell " + "weather " * 30_000
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        base.add_text(text, document_id="line")
        result = base.excerpts(QUESTION, excerpts=2, excerpt_tokens=500, tokenizer=tokenizer)
    for excerpt in result.excerpts:
        assert 0.75 * 500 <= excerpt.tokens <= 500
        for span in excerpt.spans:
            assert set(span.text.split()) <= {"weather", "gross", "margin", "fell"}


def test_languages_without_spaces_fill_the_budget() -> None:
    text = "天气很好。" * 300 + "毛利率下降是因为运费上涨。" + "收成也不错。" * 300
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(text, document_id="zh")
        (excerpt,) = base.excerpts("毛利率为什么下降?", excerpts=1, excerpt_tokens=600).excerpts
    assert 570 <= excerpt.tokens <= 600
    assert "毛利率下降是因为运费上涨。" in excerpt.text


def test_without_evidence_there_is_only_a_guess(base: KnowledgeBase) -> None:
    base.add_text(filler("weather", 40), document_id="long")
    result = base.excerpts("gross margin")
    assert result.not_found
    assert result.context == ""
    assert result.tokens == 0


def test_an_empty_question_is_rejected(base: KnowledgeBase) -> None:
    with pytest.raises(QueryError):
        base.excerpts(" ")


@pytest.mark.parametrize("values", [{"excerpts": 0}, {"excerpts": 33}, {"excerpt_tokens": 0}])
def test_sizes_out_of_range_are_rejected(values: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(values))):
        ExcerptOptions(**values)  # type: ignore[arg-type]


def test_the_order_of_documents_changes_nothing(base: KnowledgeBase) -> None:
    texts = {name: f"{ANSWER} {name}.\n\n{filler(name, 50)}" for name in ("a", "b", "c")}
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as other:
        for name, text in texts.items():
            base.add_text(text, document_id=name)
        for name, text in reversed(texts.items()):
            other.add_text(text, document_id=name)
        one = base.excerpts(QUESTION, excerpt_tokens=300)
        two = other.excerpts(QUESTION, excerpt_tokens=300)
    assert {e.document_id: ranges(e) for e in one.excerpts} == {
        e.document_id: ranges(e) for e in two.excerpts
    }
