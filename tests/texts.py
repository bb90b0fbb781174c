"""Texts with all that a cut can go wrong at, for the laws of sections and chunks."""

from __future__ import annotations

from hypothesis import strategies as st

from spanwise.types import Block, Document, Heading

__all__ = ["DOCUMENTS", "TEXTS"]

_PARTS = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            "\r\n",
            "\r\n\r\n",
            "\r",
            "\t",
            " ",
            "    ",
            "\f",
            "\u2028",
            "\x85",
            "\xa0",
        ),
        *(
            "word ",
            "Word",
            "The next one. ",
            "Mr. Smith ",
            "e.g. this ",
            "No. 5 ",
            "3.14 ",
            "U.S. ",
        ),
        *("Why? ", '"Yes!" ', "(a) first; ", "1. DEFINITIONS\n", "ARTICLE IV\n", "ITEM 7. Risk\n"),
        *(
            "| a | b |\n",
            "- item\n",
            "Title\n=====\n",
            "GENERAL PROVISIONS\n\n",
            "..........",
            "a" * 70,
        ),
        *(
            "他说。",
            "“好！”",
            "यह है। ",
            "e\u0301",
            "\u0301",
            "👩\u200d👩\u200d👧",
            "👍🏽",
            "\ud83d\ude00",
        ),
        *("\ud83d", "\u0000", "\u200d", "𝒳", "", "it costs 5, not 6: ", "said Ann and went on "),
    ]
)
TEXTS: st.SearchStrategy[str] = st.lists(_PARTS | st.text(max_size=8), max_size=120).map("".join)


@st.composite
def _documents(draw: st.DrawFn) -> Document:
    text = draw(TEXTS)
    places = st.integers(0, len(text))
    starts = sorted(draw(st.lists(places, max_size=6)))
    levels = st.integers(1, 12)
    headings = tuple(
        Heading(start=start, end=min(start + 3, len(text)), level=draw(levels), title=text[:5])
        for start in starts
    )
    borders = sorted(draw(st.sets(places, max_size=6)))
    blocks = tuple(
        Block(start=start, end=end, kind=draw(st.sampled_from(["table", "code"])))
        for start, end in zip(borders[::2], borders[1::2], strict=False)
    )
    return Document(id="d", text=text, headings=headings, blocks=blocks)


DOCUMENTS: st.SearchStrategy[Document] = _documents()
"""Small documents with headings in order and blocks that are disjoint."""
