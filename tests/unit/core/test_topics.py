"""Topic segmentation."""

from spanwise.core.documents.topics import best_cuts, gap_differences, topic_cuts
from spanwise.options import SectionOptions

OPTIONS = SectionOptions(min_chars=300, max_chars=2_000)


def test_short_text_is_not_cut() -> None:
    """A text within the maximum length is not cut."""
    assert topic_cuts("x" * 2_000, start=0, stop=2_000, options=OPTIONS) == []


def test_of_equal_shortness_the_stronger_cut_is_taken() -> None:
    """If a short piece is unavoidable, strengths decide which one."""
    assert best_cuts([4, 10, 12], [0.0, 5.0], min_chars=5, max_chars=10) == [10]
    assert best_cuts([4, 10, 12], [5.0, 0.0], min_chars=5, max_chars=10) == [4]


def test_cuts_fall_between_paragraphs() -> None:
    """A change of topic at a blank line is cut exactly there."""
    ship = "Ann: The harbour shipped grain in barges.\nBen: Sailors moored vessels beside it.\n" * 6
    cell = "Ann: Proteins fold inside living cells.\nBen: Enzymes catalyse their reactions.\n" * 6
    text = "\n".join([ship, ship, ship, cell, cell, cell])
    change = 3 * (len(ship) + 1)
    assert change in topic_cuts(text, start=0, stop=len(text), options=OPTIONS)


def test_offsets_are_those_of_the_text() -> None:
    """A range inside the text is cut at places of the text."""
    text = "The harbour grew with the grain trade. " * 200
    cuts = topic_cuts(text, start=3_000, stop=7_000, options=OPTIONS)
    assert cuts == sorted(cuts)
    assert all(3_000 < cut < 7_000 for cut in cuts)
    assert max(b - a for a, b in zip([3_000, *cuts], [*cuts, 7_000], strict=True)) <= 2_000


def test_equal_gaps_have_no_difference() -> None:
    """A uniform text has no stronger gap; a single atom has no gap."""
    text = "grain trade " * 40
    assert gap_differences(text, start=0, places=[120, 240, 360, 480]).tolist() == [0.0] * 3
    assert gap_differences(text, start=0, places=[480]).tolist() == []
