"""Sentence ends."""

from itertools import pairwise

import pytest

from spanwise.core.text.sentences import sentence_ends


def split(text: str) -> list[str]:
    bounds = [0, *sentence_ends(text), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith paid Dr. Jones in St. Petersburg.",
        "It costs $5.00, i.e. 3.5 percent of 1.000,50 euros.",
        "See No. 5, Fig. 2, pp. 3 and Sec. 4.1 for more.",
        "Acme Inc. and Widgets Ltd. Holdings agree.",
        "The U.S. Government and J. K. Rowling met at 5 p.m. sharp.",
        "1. DEFINITIONS",
        "It ends... and goes on.",
        '"Why?" she asked, "why not!" and left.',
        "a.b.c and example.com are names.",
        "...........................",
        "",
    ],
)
def test_one_sentence_is_not_cut(text: str) -> None:
    """Abbreviations, numbers, initials and quoted stops end no sentence."""
    assert split(text) == [text]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One ends. Two starts.", ["One ends. ", "Two starts."]),
        ("Really?! Yes.  No.", ["Really?! ", "Yes.  ", "No."]),
        ('He said "no." (She left.) It rained.', ['He said "no." ', "(She left.) ", "It rained."]),
        ("Made in the U.S. The rest is not.", ["Made in the U.S. ", "The rest is not."]),
        ("Sold by Acme Inc. This is all.", ["Sold by Acme Inc. ", "This is all."]),
        ("The answer is no. We left.", ["The answer is no. ", "We left."]),
        ("It was 2015. He won 12. Then 7.", ["It was 2015. ", "He won 12. ", "Then 7."]),
        ("The end. 2. Term. It runs on.", ["The end. ", "2. Term. ", "It runs on."]),
        ("他说。“好。”我们走吧！是吗？对", ["他说。", "“好。”", "我们走吧！", "是吗？", "对"]),
        ("यह है। वह था॥ ठीक", ["यह है। ", "वह था॥ ", "ठीक"]),
        ("هل هذا؟ نعم۔ لا", ["هل هذا؟ ", "نعم۔ ", "لا"]),
        ("売上は増えた。「良い。」と言う", ["売上は増えた。", "「良い。」", "と言う"]),
        ("Այո։ Ոչ։ Լավ", ["Այո։ ", "Ոչ։ ", "Լավ"]),
        ("ቤት ነው። መጣ፧ ሄደ", ["ቤት ነው። ", "መጣ፧ ", "ሄደ"]),
        ("ខ្ញុំទៅ។គាត់មក។", ["ខ្ញុំទៅ។", "គាត់មក។"]),
        ("Рост есть. Спрос тоже.", ["Рост есть. ", "Спрос тоже."]),
    ],
)
def test_sentences_end_after_their_stop(text: str, sentences: list[str]) -> None:
    """A sentence takes its stop, its closing quote and the spaces after it."""
    assert split(text) == sentences


def test_line_breaks_are_left_to_lines() -> None:
    """A stop before a line break is no end inside a line."""
    assert list(sentence_ends("One.\nTwo.\r\n\r\nThree. Four")) == [20]


def test_a_range_is_read_alone() -> None:
    """Ends lie inside the range."""
    text = "One. Two. Three. Four."
    assert list(sentence_ends(text, start=5, end=17)) == [10]
