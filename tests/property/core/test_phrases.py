"""Laws of quoted phrases."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.phrases import phrase_runs, read_phrases
from spanwise.core.text.terms import literal_words, text_terms

WORDS = st.lists(
    st.sampled_from(
        "the margin FY2018 Zinsen für Größe i İ 毛利率 上升 数据 l'eau 3.5 ΣΑΣ কথা ไทย ي".split()
    ),
    min_size=1,
    max_size=6,
)
TEXTS = st.text(max_size=60)
GAPS = st.sampled_from([" ", "\n", ", ", "-"])  # a comma alone would join two numbers to one


@settings(max_examples=150)
@given(TEXTS, WORDS, TEXTS, st.lists(st.integers(0, 200), max_size=5), GAPS)
def test_chunks_hold_the_phrase_that_runs_through_them(
    before: str, words: list[str], after: str, cuts: list[int], gap: str
) -> None:
    """The ends of chunks, case and punctuation make no difference."""
    (phrase,) = read_phrases(f'"{" ".join(words)}"') or (None,)
    if phrase is None:
        return
    start = f"{before}\n\n"
    text = start + gap.join(words) + f"\n\n{after}"
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    chunks = [text[a:b] for a, b in pairwise(places)]
    held = phrase_runs(phrase, [chunks])
    whole = phrase_runs(phrase, [[text]])
    assert whole.all()
    assert held.any()


@given(
    st.text("毛一 a,", min_size=1, max_size=8),
    st.text("毛一 a,。", max_size=40),
    st.lists(st.integers(0, 40), max_size=5),
)
def test_words_that_repeat_are_found_wherever_the_phrase_occurs(
    quoted: str, text: str, cuts: list[int]
) -> None:
    for phrase in read_phrases(f"“{quoted}”"):
        places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
        chunks = list(pairwise(places))
        found = list(literal_words(text))
        expected = [False] * len(chunks)
        for at in range(len(found)):
            part = found[at : at + len(phrase.words)]
            gaps = [text[last[2] : now[1]] for last, now in pairwise(part)]
            if tuple(word for word, _, _ in part) == phrase.words and not any(
                joined and gap.strip() for joined, gap in zip(phrase.joined[1:], gaps, strict=True)
            ):
                start, end = part[0][1], part[-1][2]
                overlaps = [a < end and start < b for a, b in chunks]
                expected = [one or other for one, other in zip(expected, overlaps, strict=True)]
        assert phrase_runs(phrase, [[text[a:b] for a, b in chunks]]).tolist() == expected


@settings(max_examples=150)
@given(WORDS, st.sampled_from(["", "de", "zh", "tr"]))
def test_a_text_with_a_phrase_contains_the_terms_by_which_it_is_found(
    words: list[str], language: str
) -> None:
    text = " ".join(words)
    for phrase in read_phrases(f"“{text}”"):
        forms, places = phrase.forms([language])
        contained = set(text_terms(f"x {text}, y", language=language))
        found = {place for form, place in zip(forms, places, strict=True) if form in contained}
        assert len(found) >= phrase.least_terms(places)


@settings(max_examples=150)
@given(TEXTS)
def test_the_places_of_literal_words_are_in_order_inside_the_text(text: str) -> None:
    last = 0
    for word, start, end in literal_words(text):
        assert word
        assert last <= start <= end <= len(text)
        last = start


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from("The the MARGIN. margin, fell 3.5 fell's _ - a b ab 1,5a “".split())),
    st.sampled_from(["", " ", ", "]),
)
def test_a_text_with_ascii_words_holds_the_same_phrases_as_one_with_other_letters(
    parts: list[str], gap: str
) -> None:
    """A text whose words are all ASCII is searched in a faster way."""
    text = gap.join(parts)
    phrases = '"the margin" "fell" "3.5 fell" "margin fell\'s" "a b a" "1,5a" "5" "b 1,5"'
    for phrase in read_phrases(phrases):
        plain = phrase_runs(phrase, [[text, "."]])
        assert plain.tolist() == phrase_runs(phrase, [[text, ".é"]]).tolist()


@settings(max_examples=300)
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["The ", "the", " margin", "fell", ". ", "3", ".5 ", "é", "x" * 210, ""]
            ),
            max_size=4,
        ),
        max_size=6,
    )
)
def test_a_phrase_does_not_continue_in_another_run(runs: list[list[str]]) -> None:
    """Runs that are compared together hold what each of them holds alone."""
    for phrase in read_phrases('"the margin" "fell" "3.5" "margin fell the margin" "é"'):
        alone = [phrase_runs(phrase, [texts]).tolist() for texts in runs]
        assert phrase_runs(phrase, runs).tolist() == [held for own in alone for held in own]
