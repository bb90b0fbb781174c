"""Whatever befalls a file, it ends as a document with text or as an error with a cause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.image_files import image_file
from tests.small_documents import small_documents

from spanwise.errors import DocumentErrorCode, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.formats import PARSERS, FormatName
from spanwise.parsers.process.isolation import ParserPool

WHOLE = {
    **small_documents(),
    "photo.png": image_file("PNG"),
    "photo.jpg": image_file("JPEG"),
    "scan.tif": image_file("TIFF"),
}
CONTAINERS = (".mbox", ".zip", ".tar", ".gz")
NAMES = sorted(name for name in WHOLE if not name.endswith(CONTAINERS))
CODES = frozenset(get_args(DocumentErrorCode))

changes = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=3), st.integers(0, 40)),
    min_size=1,
    max_size=6,
)
"""Places, as shares of the file; bytes that are put there; and how many are taken out."""


@pytest.fixture(name="pool", scope="module")
def open_pool() -> Iterator[ParserPool]:
    with ParserPool(options=ParseOptions(base_seconds=10, ocr="off")) as pool:
        yield pool


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.sampled_from(NAMES), changes=changes, kept=st.floats(0.3, 1))
def test_broken_file_has_a_stated_outcome(
    pool: ParserPool,
    tmp_path: Path,
    name: str,
    changes: list[tuple[float, bytes, int]],
    kept: float,
) -> None:
    """The parser neither hangs nor dies, and nothing is silently empty."""
    data = WHOLE[name]
    data = data[: int(len(data) * kept)]
    for share, inserted, taken in changes:
        place = int(share * len(data))
        data = data[:place] + inserted + data[place + taken :]
    path = tmp_path / name
    path.write_bytes(data)
    refusal = None
    try:
        document = pool.parse(path, document_id="a", source=name, source_root="a")
    except ParseError as error:
        refusal = error
    if refusal is not None:
        assert refusal.code in CODES - {"crashed", "timeout"}
        assert str(refusal).startswith(f"{name}: ")
    else:
        assert document.text.strip()
        assert document.status == "ok" or document.warnings


def test_every_format_is_broken() -> None:
    """A format that comes without a sample would not be tested."""
    extensions = {name.rpartition(".")[2] for name in NAMES}
    samples: dict[FormatName, str] = {
        "text": "txt",
        "markdown": "md",
        "workbook": "xlsx",
        "restructuredtext": "rst",
        "asciidoc": "adoc",
        "code": "py",
        "email": "eml",
        "image": "png",
    }
    without = {name for name in PARSERS if samples.get(name, name) not in extensions}
    assert without == {"odp"}  # read by the parsers of the other OpenDocument and slide formats
