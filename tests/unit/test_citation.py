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
def test_a_citation_names_the_title_once(path: tuple[str, ...], said: str) -> None:
    citation = Citation(
        document_id="a", title="Report", start=5, end=9, pages=(2, 2), section_path=path
    )
    assert str(citation) == said


LONG = "a title " * 20


@pytest.mark.parametrize(
    ("sections", "path"),
    [
        ((("Notes", "Leases"), ("Notes", "Taxes")), ("Notes", "Leases; Taxes")),
        ((("Leases",), ("Taxes",), ("Debt",)), ("Leases; Taxes; Debt",)),
        ((("1",), ("2",), ("3",), ("4", "Debt")), ("1 … 4",)),
        ((("Notes", "Leases"), ("Notes", "Leases", "Boats")), ("Notes", "Leases")),
        ((("Notes",), ("Notes", "Leases"), ("Notes", "Taxes")), ("Notes",)),
        ((("Notes", "Leases", "a"), ("Notes", "Leases")), ("Notes", "Leases")),
        ((("Notes", ""), ("Notes", "Leases")), ("Notes", "Leases")),
        ((("Leases",), ("",)), ("Leases",)),
        ((("Notes", "Leases", "a"), ("Notes", "Leases", "a")), ("Notes", "Leases", "a")),
        (((LONG,), ("b",)), (f"{LONG[:59].rstrip()}…; b",)),
        ((), ("Notes",)),
    ],
)
def test_a_citation_of_several_sections_names_them(
    sections: tuple[tuple[str, ...], ...], path: tuple[str, ...]
) -> None:
    """Up to three titles after the common path, else the first and the last.

    A section that encloses the others names all of them.
    """
    citation = Citation(
        document_id="a", title="R", start=5, end=9, section_path=("Notes",), sections=sections
    )
    assert citation.spanned_path == path
    assert citation.place == f"{' > '.join(path)}, characters 5-9"


def test_a_citation_without_a_title_names_the_id() -> None:
    citation = Citation(document_id="a", title="", start=5, end=9, section_path=("a",))
    assert str(citation) == "a, a, characters 5-9"


@pytest.mark.parametrize(
    ("pages", "labels", "said"),
    [
        ((45, 45), None, "page 45"),
        ((45, 45), ("F-12", "F-12"), "page 45 (F-12)"),
        ((45, 47), ("F-12", "F-14"), "pages 45-47 (F-12 to F-14)"),
        (None, None, ""),
    ],
)
def test_pages_have_their_printed_labels(
    pages: tuple[int, int] | None, labels: tuple[str, str] | None, said: str
) -> None:
    citation = Citation(document_id="a", title="", start=5, end=9, pages=pages, page_labels=labels)
    assert citation.page_range == said
    assert str(citation) == f"a, {said}, characters 5-9" if said else "a, characters 5-9"
