"""A page of a stored document as a picture, from the file it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents import build_pdf
from tests.integration.commands import read_json, spanwise
from tests.pictures import dots_of
from tests.printed import build_turned

from spanwise import KnowledgeBase
from spanwise.errors import DocumentNotFoundError, FetchError, OptionError, ParseError
from spanwise.ingest.page_images import draw_pages
from spanwise.options import FetchOptions, ParseOptions

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(name="folder")
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "in" / "reports"
    folder.mkdir(parents=True)
    (folder / "a.pdf").write_bytes(build_pdf(["First page.", "Second page."]))
    (folder / "b.txt").write_text("No pages.")
    return folder


@pytest.fixture(name="filled")
def filled_knowledge_base(folder: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as knowledge_base:
        knowledge_base.add(folder.parent)
        yield knowledge_base


def test_page_is_drawn(filled: KnowledgeBase) -> None:
    """Finer pictures are larger ones."""
    coarse = filled.page_image("reports/a.pdf", 2, dots_per_inch=20)
    fine = filled.page_image("reports/a.pdf", 2)
    assert coarse.startswith(PNG)
    assert len(fine) > len(coarse)


def test_file_that_was_named_alone_is_found(tmp_path: Path, folder: Path) -> None:
    """Its root is itself."""
    with KnowledgeBase(tmp_path / "b.kb", embedder=None) as knowledge_base:
        knowledge_base.add(folder / "a.pdf")
        assert knowledge_base.page_image("a.pdf", 1, dots_per_inch=20).startswith(PNG)


def test_file_of_a_folder_with_a_prefix_is_found(filled: KnowledgeBase, folder: Path) -> None:
    """The id begins with the prefix, and the path does not."""
    filled.add(folder, prefix="2023/q1")
    assert filled.page_image("2023/q1/a.pdf", 1, dots_per_inch=20).startswith(PNG)


def test_a_file_is_found_among_others_that_its_id_could_mean(
    filled: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    """The prefix of a folder may also be the name of a folder in it."""
    inner = folder / "2023"
    inner.mkdir()
    (inner / "a.pdf").write_bytes(build_pdf(["Inner page."]))
    with KnowledgeBase(tmp_path / "b.kb", embedder=None) as base:
        base.add(folder, prefix="2023", include=["*.pdf"])
        for name in ("2023/a.pdf", "2023/2023/a.pdf"):
            assert base.page_image(name, 1, dots_per_inch=20).startswith(PNG)


@pytest.mark.parametrize(
    "highlight", [(1,), (1, 2, 3), 5, (1.0, 2.0), ("1", "2"), (None, 4), {1: 2}, True, (True, 2)]
)
def test_a_highlight_of_another_form_is_refused(filled: KnowledgeBase, highlight: object) -> None:
    """The error names the value."""
    with pytest.raises(OptionError, match="highlight is"):
        filled.page_image("reports/a.pdf", 1, highlight=highlight)  # type: ignore[arg-type]


def test_what_cannot_be_drawn_is_an_error(filled: KnowledgeBase) -> None:
    """No document, no page, no fineness, no PDF."""
    with pytest.raises(DocumentNotFoundError):
        filled.page_image("c.pdf", 1)
    with pytest.raises(OptionError, match="pages 1 to 2"):
        filled.page_image("reports/a.pdf", 3)
    with pytest.raises(OptionError, match="dots_per_inch"):
        filled.page_image("reports/a.pdf", 1, dots_per_inch=5_000)
    with pytest.raises(ParseError, match="only pages of PDFs"):
        filled.page_image("reports/b.txt", 1)


@pytest.mark.parametrize("page", [1.0, "1", None, 0, 99])
@pytest.mark.parametrize("highlight", [None, "the"])
def test_a_page_that_there_is_not_is_refused(
    filled: KnowledgeBase, page: Any, highlight: str | None
) -> None:
    with pytest.raises(OptionError, match="page is"):
        filled.page_image("reports/a.pdf", page, highlight=highlight)


def test_images_need_a_segment_and_whole_numbers(filled: KnowledgeBase) -> None:
    segment = filled.search("page").segments[0]
    with pytest.raises(OptionError, match="segment is"):
        filled.segment_images(segment.to_dict())  # type: ignore[arg-type]
    for name in ("max_pages", "dots_per_inch"):
        with pytest.raises(OptionError, match=f"{name} is '9'"):
            filled.segment_images(segment, **{name: "9"})  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="number is '0'"):
        filled.figure_image("reports/a.pdf", "0")  # type: ignore[arg-type]


def test_file_must_be_the_one_that_was_added(filled: KnowledgeBase, folder: Path) -> None:
    """A changed file would show another page than the text is from."""
    (folder / "a.pdf").write_bytes(build_pdf(["Another first page.", "Second page."]))
    with pytest.raises(FetchError, match="changed since"):
        filled.page_image("reports/a.pdf", 1)
    (folder / "a.pdf").unlink()
    with pytest.raises(FetchError, match="not there"):
        filled.page_image("reports/a.pdf", 1)


def test_member_of_a_container_is_no_file_of_its_own(filled: KnowledgeBase) -> None:
    """Of one that was fetched too, which is not fetched again."""
    (record,) = [one for one in filled.list() if one.id == "reports/a.pdf"]
    url = "https://example.invalid/a.zip"
    member = replace(record, id=f"{url}!/a.pdf", source=f"{url}!/a.pdf", source_root=url)
    with pytest.raises(FetchError, match="not there as a file of its own"):
        draw_pages(member, [1], dots_per_inch=20, parse=ParseOptions(), fetch=FetchOptions())


def test_text_given_by_a_program_has_no_file(filled: KnowledgeBase) -> None:
    """Nothing to draw."""
    filled.add_text("text", document_id="given")
    with pytest.raises(ParseError, match="only pages of PDFs"):
        filled.page_image("given", 1)


def test_segment_gives_its_pages(filled: KnowledgeBase) -> None:
    """In order, as many as are asked for."""
    (segment,) = filled.search("page", documents=["reports/a.pdf"]).segments
    assert segment.citation.pages == (1, 2)
    both = filled.segment_images(segment, dots_per_inch=20)
    assert both == tuple(
        filled.page_image("reports/a.pdf", page, dots_per_inch=20) for page in (1, 2)
    )
    assert filled.segment_images(segment, dots_per_inch=20, max_pages=1) == both[:1]
    with pytest.raises(OptionError, match="max_pages is 0"):
        filled.segment_images(segment, max_pages=0)


def yellow_rows(png: bytes) -> list[int]:
    """Return the numbers of the pixel rows with a highlight."""
    dots = dots_of(png)
    red, blue = dots[:, :, 0].astype(int), dots[:, :, 2].astype(int)
    return [int(row) for row in np.flatnonzero((red - blue > 100).any(axis=1))]


@pytest.mark.parametrize("rotation", [0, 90, 180])
def test_range_of_characters_is_highlighted(tmp_path: Path, rotation: int) -> None:
    """On the page as people see it, and nowhere else."""
    (tmp_path / "turned.pdf").write_bytes(build_turned(rotation))
    with KnowledgeBase(":memory:", embedder=None) as knowledge_base:
        knowledge_base.add(tmp_path / "turned.pdf")
        text = knowledge_base.get("turned.pdf").text
        drawn = {}
        for words in ("The Harbour", "Boats"):
            start = text.index(words)
            drawn[words] = yellow_rows(
                knowledge_base.page_image(
                    "turned.pdf", 1, highlight=(start, start + len(words)), dots_per_inch=72
                )
            )
            same = knowledge_base.page_image("turned.pdf", 1, highlight=words, dots_per_inch=72)
            assert yellow_rows(same) == drawn[words]
        assert yellow_rows(knowledge_base.page_image("turned.pdf", 1, dots_per_inch=72)) == []
    assert 5 <= len(drawn["The Harbour"]) <= 30
    assert max(drawn["The Harbour"]) < min(drawn["Boats"])


def test_range_on_another_page_is_an_error(filled: KnowledgeBase) -> None:
    """So are words that the page does not have."""
    with pytest.raises(OptionError, match="not on page 2"):
        filled.page_image("reports/a.pdf", 2, highlight=(0, 3))
    with pytest.raises(OptionError, match="not on page 2"):
        filled.page_image("reports/a.pdf", 2, highlight="First")
    (segment,) = filled.search("page", documents=["reports/a.pdf"]).segments
    for image in filled.segment_images(segment, dots_per_inch=72, highlight=True):
        assert yellow_rows(image)


def test_segment_of_a_document_that_is_no_pdf_has_no_pages(filled: KnowledgeBase) -> None:
    """Which is said, not passed over."""
    (segment,) = filled.search("pages", documents=["reports/b.txt"]).segments
    with pytest.raises(ParseError, match="only pages of PDFs"):
        filled.segment_images(segment)


def test_search_writes_the_pages_of_its_segments(folder: Path, tmp_path: Path) -> None:
    """And names them, for people and for programs; what cannot be drawn is a warning."""
    spanwise("add", folder, folder=tmp_path)
    asked = ("page", "--page-images", "drawn/here")
    done = spanwise("search", *asked, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read_json("search", *asked, folder=tmp_path)
    images = {
        segment["document_id"]: (segment["rank"], paths)
        for segment, paths in zip(found["segments"], found["page_images"], strict=True)
    }
    rank, paths = images["a.pdf"]
    assert paths == [str(Path("drawn/here", f"segment-{rank + 1}-page-{n}.png")) for n in (1, 2)]
    assert f"page images: {paths[0]}," in done.stdout
    for path in paths:
        assert (tmp_path / path).read_bytes().startswith(PNG)
    assert all(paths == [] for name, (_, paths) in images.items() if name != "a.pdf")
    assert "page_images" not in read_json("search", "page", folder=tmp_path)
    (folder / "a.pdf").unlink()
    gone = read_json("search", *asked, folder=tmp_path)
    assert any("no image of pages 1-2" in warning for warning in gone["warnings"])
    (tmp_path / "file").write_text("")
    refused = spanwise("search", *asked[:-1], "file", folder=tmp_path)
    assert refused.returncode == 2
    assert "file" in refused.stderr


def test_command_writes_a_file(folder: Path, tmp_path: Path) -> None:
    """And says which page it is."""
    spanwise("add", folder, folder=tmp_path)
    drawn = ("--dots-per-inch", "20", "-o", "page.png")
    done = spanwise("page", "a.pdf", "2", *drawn, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "page 2 of a.pdf" in done.stdout
    assert (tmp_path / "page.png").read_bytes().startswith(PNG)
    said = read_json("page", "a.pdf", "1", *drawn, folder=tmp_path)
    assert (said["document_id"], said["page"], said["path"]) == ("a.pdf", 1, "page.png")
    (tmp_path / "page.png").unlink()
    for place in ("0-5", "first page"):
        marked = spanwise("page", "a.pdf", "1", *drawn, "--highlight", place, folder=tmp_path)
        assert marked.returncode == 0, marked.stderr
        assert yellow_rows((tmp_path / "page.png").read_bytes())
    both = spanwise("page", "a.pdf", "1", "--json", "-o", "-", folder=tmp_path)
    assert "--json needs a file" in both.stdout + both.stderr
    missing = spanwise("page", "a.pdf", "7", *drawn, folder=tmp_path)
    assert missing.returncode != 0
    assert "pages 1 to 2" in missing.stderr
