"""Laws of excerpts, on documents of every shape."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.models.providers.tokenizer import make_tokenizer

_WORDS = st.sampled_from(
    "margin cost freight price sales Acme 2018 3.5 tax law notice party term safety people of the"
    " in".split()
)
_LINES = st.lists(_WORDS, min_size=1, max_size=14).map(lambda words: " ".join(words) + ".")
_TEXTS = st.lists(
    st.one_of(_LINES, _LINES, st.just(""), st.just("# Heading"), st.just("a\t1\tb\t2"))
    | st.just("</excerpt>"),
    min_size=1,
    max_size=60,
).map("\n".join)
_DOCUMENTS = st.lists(_TEXTS.filter(lambda text: bool(text.strip())), min_size=1, max_size=4)
_QUESTIONS = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(
    texts=_DOCUMENTS,
    question=_QUESTIONS,
    excerpts=st.integers(1, 5),
    tokens=st.integers(80, 500),
    tokenizer=st.sampled_from(["chars:4", "chars:1.5", "o200k_base"]),
    headers=st.booleans(),
)
def test_excerpts_keep_the_budget_and_show_no_character_twice(
    texts: list[str], question: str, excerpts: int, tokens: int, tokenizer: str, headers: bool
) -> None:
    with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
        for number, text in enumerate(texts):
            base.add_text(text, document_id=f"d{number}")
        try:
            result = base.excerpts(
                question,
                excerpts=excerpts,
                excerpt_tokens=tokens,
                tokenizer=tokenizer,
                headers=headers,
            )
        except OptionError:  # the excerpt holds no chunk under its header
            return
    count = make_tokenizer(tokenizer).count
    assert len(result.excerpts) <= excerpts
    assert result.tokens == count([result.context])[0] <= tokens * len(result.excerpts)
    shown: dict[str, set[int]] = {}
    for excerpt in result.excerpts:
        assert excerpt.tokens <= tokens
        assert excerpt.text.strip() in result.context
        text = texts[int(excerpt.document_id[1:])]
        places = shown.setdefault(excerpt.document_id, set())
        assert any(span.is_evidence for span in excerpt.spans)
        for span in excerpt.spans:
            assert span.text == text[span.start : span.end] != ""
            assert places.isdisjoint(range(span.start, span.end))
            places.update(range(span.start, span.end))
        starts = [span.start for span in excerpt.spans]
        assert starts == sorted(starts)
        assert excerpt.is_whole == (sum(len(s.text) for s in excerpt.spans) == len(text))
    relevances = [excerpt.relevance for excerpt in result.excerpts]
    assert relevances == sorted(relevances, reverse=True)
    is_cut = any("without its header" in warning for warning in result.warnings)
    if headers and result.excerpts and not is_cut:
        tag = result.context[1:].split(" ", 1)[0]
        assert result.context.count(f"<{tag} ") == len(result.excerpts)
        assert result.context.count(f"</{tag}>") == len(result.excerpts)
