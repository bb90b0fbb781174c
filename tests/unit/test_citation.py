"""Citations, as people read them."""

import pytest

from spanwise.types import Citation


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ((), "Report, page 2, characters 5-9"),
        (("Report",), "Report, page 2, characters 5-9"),
        (("Report", "Results"), "Report, Results, page 2, characters 5-9"),
        (("Results", "Report"), "Report, Results > Report, page 2, characters 5-9"),
    ],
)
def test_a_citation_says_the_title_once(path: tuple[str, ...], said: str) -> None:
    citation = Citation(
        document_id="a", title="Report", start=5, end=9, pages=(2, 2), section_path=path
    )
    assert str(citation) == said


def test_a_citation_without_a_title_says_the_id() -> None:
    citation = Citation(document_id="a", title="", start=5, end=9, section_path=("a",))
    assert str(citation) == "a, a, characters 5-9"
