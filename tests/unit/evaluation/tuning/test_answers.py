"""What is read of the evidence of labelled questions."""

from __future__ import annotations

from spanwise import KnowledgeBase
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning.learned_answers import read_answers

LINES = [f"Pump {at} of Alderwood was repaired because bearing{at} had worn.\n" for at in range(90)]
TEXT = "".join(LINES)


def test_evidence_is_read_chunk_by_chunk_without_words_of_titles() -> None:
    start, end = len("".join(LINES[:10])), len("".join(LINES[:40]))
    with KnowledgeBase(":memory:", embedder=None, packs=()) as base:
        for name in ("a", "b"):
            base.add_text(TEXT, document_id=f"{name}.txt", title="Alderwood pumps")
        chunks = base.chunks("a.txt")
        asked = LabelledQuestion(
            id="1",
            text="Why was a pump of Alderwood repaired?",
            evidence=(
                Evidence(document_id="b.txt", start=0, end=len(LINES[0])),
                Evidence(document_id="a.txt", start=start, end=end),
            ),
        )
        read = read_answers(base, [asked])
    answered = read.answered["1"]
    assert answered.terms == {"repair"}  # "pump" and "alderwood" are words of the titles
    held = [min(one.end, end) - max(one.start, start) for one in chunks]
    first = [piece.chars for piece in answered.evidence if piece.document_id == "a.txt"]
    assert first == [chars for chars in held if chars > 0]
    assert len(first) > 2
    last = answered.evidence[-1]
    assert (last.document_id, last.chars) == ("b.txt", len(LINES[0]))
    assert "bearing0" in last.terms
    assert not last.terms & {"alderwood", "pump", "of", "bearing1"}
    inside = frozenset[str]().union(*(piece.terms for piece in answered.evidence[:-1]))
    assert {f"bearing{at}" for at in range(10, 40)} <= inside
    assert not {f"bearing{at}" for at in (*range(10), *range(40, 90))} & inside
    assert all(read.rarities[term] > 0 for term in last.terms)
