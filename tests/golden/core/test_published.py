"""The published method: the worked examples, and one of our own cases per preset."""

from __future__ import annotations

from dataclasses import asdict

from tests.chunk_values import numbers
from tests.conftest import GoldenCheck

from spanwise.core.extraction.exact import extract_segments
from spanwise.core.extraction.published import RankedChunk, extract_greedily, extract_published
from spanwise.options import METHOD_PRESETS, PublishedOptions

BRIDGE = [-0.2, -0.2, 0.4, 0.8, -0.1]
GREED_LOSES = [0.9, -0.2, 0.9, 0.3, 0.3, 0.9]


def made_case() -> tuple[list[list[RankedChunk]], list[list[int]]]:
    """Return the rankings of two queries over three documents, and the lengths of all chunks."""
    draw = numbers(11)
    lengths = [[200 + draw(1_200) for _ in range(40)] for _ in range(3)]
    rankings = []
    for centres in ((5, 52), (8, 100)):
        near = {(place // 40, place % 40) for c in centres for place in range(c, c + 6)}
        far = {(draw(3), draw(40)) for _ in range(30)} - near
        order = sorted(near) + sorted(far)
        rankings.append(
            [
                (*place, (9_900 - 150 * rank - draw(100)) / 10_000)
                for rank, place in enumerate(order)
            ]
        )
    return rankings, lengths


def test_worked_examples(golden: GoldenCheck) -> None:
    """Greedy and exact extraction agree on the first example; on the second, greed loses."""
    found: dict[str, object] = {}
    for name, values, longest, budget in (
        ("bridge", BRIDGE, 5, 5),
        ("greed loses", GREED_LOSES, 3, 4),
    ):
        greedy = extract_greedily([values], max_segment_chunks=longest, budget_chunks=budget)
        exact = extract_segments(
            values, [1] * len(values), budget_tokens=budget, max_segment_tokens=longest
        )
        found[name] = {
            "greedy": [[run.start, run.end, run.value] for run in greedy],
            "exact": [[run.start, run.end, run.value] for run in exact.runs],
            "values": [round(sum(run.value for run in greedy), 9), exact.value],
        }
    golden("worked_examples", found)


def test_presets(golden: GoldenCheck) -> None:
    """Segments of each preset equal the golden file."""
    rankings, lengths = made_case()
    found = {
        name: [
            {**asdict(run), "value": round(run.value, 6)}
            for run in extract_published(rankings, lengths, options=PublishedOptions.preset(name))
        ]
        for name in METHOD_PRESETS["greedy"]
    }
    golden("published_presets", found)
