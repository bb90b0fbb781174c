"""Knowledge bases that are worth an explanation, and the choice made again from one."""

from __future__ import annotations

import numpy as np

from spanwise import KnowledgeBase
from spanwise.core.extraction.exact import chunk_values, extract_segments
from spanwise.search.explanation import Explanation

QUESTION = "Why did the gross margin of the mill fall?"
_TOPICS = (
    "Barges carry grain down the river to the port, and the locks close in winter.",
    "The bakery sells rye bread, oat cakes and a seeded loaf on market days.",
    "Staff meet on Mondays; the minutes are kept for seven years in the office.",
    "Solar panels on the silo roof gave a tenth of the electricity of the site.",
)
_ANSWERS = (
    "Gross margin of the mill fell because freight cost more than in the year before.",
    "The mill lost gross margin when the price of wheat rose faster than that of flour.",
    "A fall in margin followed the repair of the mill, which stood still for a month.",
)


def filled_base(documents: int = 4, *, paragraphs: int = 24) -> KnowledgeBase:
    """Return a knowledge base in memory, some of whose paragraphs answer the question."""
    base = KnowledgeBase(":memory:")
    for number in range(documents):
        lines = []
        for place in range(paragraphs):
            topic = _TOPICS[(place + number) % len(_TOPICS)]
            lines.append(f"{topic} This stands in paragraph {place} of report {number}. " * 3)
            if place % 7 == number % 7:
                lines.append(_ANSWERS[(place + number) % len(_ANSWERS)] + f" See note {place}.")
        base.add_text(
            f"# Report {number}\n\n" + "\n\n".join(lines),
            document_id=f"reports/{number}",
            title=f"Report {number}",
        )
    return base


def chosen_again(
    explanation: Explanation,
    *,
    price: float | None = None,
    charge: float | None = None,
    budget: int | None = None,
) -> list[tuple[str, int, int]]:
    """Return the segments that an explanation's own numbers lead to: document, first chunk, end.

    Settings that are not given are those of the search. By document id and place.
    """
    terms = explanation.terms
    price = terms.token_price if price is None else price
    charge = terms.segment_charge if charge is None else charge
    runs = [
        (document.document_id, run)
        for document in sorted(explanation.documents, key=lambda one: one.position)
        for run in document.runs
    ]
    lengths = [np.array(run.tokens, dtype=np.int64) for _, run in runs]
    values = [
        chunk_values(run.shares, tokens, token_price=price)
        for (_, run), tokens in zip(runs, lengths, strict=True)
    ]
    required = [
        (at, chunk - run.start)
        for document_id, chunk in terms.required
        for at, (name, run) in enumerate(runs)
        if name == document_id and 0 <= chunk - run.start < len(run.tokens)
    ]
    charge = terms.segment_charge if charge is None else charge
    found = extract_segments(
        values,
        lengths,
        border_costs=[charge * np.array(run.borders or [0.0] * len(run.tokens)) for _, run in runs],
        budget_tokens=terms.budget_tokens if budget is None else budget,
        segment_charge=charge + price * terms.header_tokens / 1_000,
        min_segment_value=terms.min_segment_value,
        max_segment_tokens=terms.max_segment_tokens,
        header_tokens=terms.header_tokens,
        required=[
            (at, chunk)
            for at, chunk in required
            if values[at][chunk] > 0 and values[at][chunk] >= terms.min_segment_value
        ],
    )
    return sorted(
        (runs[run.document][0], runs[run.document][1].start + run.start, end)
        for run in found.runs
        for end in [runs[run.document][1].start + run.end]
    )


def chosen(explanation: Explanation) -> list[tuple[str, int, int]]:
    """Return the segments of the result in the same form."""
    return sorted(
        (segment.document_id, segment.first_chunk, segment.last_chunk)
        for segment in explanation.result.segments
    )
