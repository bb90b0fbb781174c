"""Local copy of a published dataset: readers of its CSV, JSON and text files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DatasetDocument
from spanwise.evaluation.datasets.json_lines import (
    BOM,
    FaultError,
    Row,
    decoded,
    opened,
    parsed,
    shown,
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """Local copy of a dataset."""

    name: str
    """Name of the dataset."""
    folder: Path
    """Folder of the copy, or its file if the dataset is a single file."""

    def find(self, *paths: str) -> Path:
        """Return the first of several paths that exists.

        Args:
            *paths: Paths relative to the folder, with "/".

        Raises:
            OptionError: If no path exists; the message lists all paths.
        """
        for path in paths:
            found = self.folder / path
            if found.exists():
                return found
        raise OptionError(
            f"{self.folder} is no checkout of {self.name}: there is no "
            f"{' and no '.join(paths)}; name the folder that it was cloned or unpacked to"
        )

    def inside(self, base: Path, named: str, *, place: str) -> Path:
        """Return the path of a file named in a data file.

        Args:
            base: Folder of relative paths; the file must be inside it.
            named: Relative path.
            place: Position of the name in the data file, for error messages.

        Raises:
            FaultError: If the file does not exist, or is outside the folder.
            OptionError: If the file is a Git LFS pointer, or cannot be read.
        """
        try:
            path = (base / named).resolve()
            is_inside = path.is_relative_to(base.resolve())
            is_there = is_inside and path.is_file()
        except (OSError, ValueError) as error:  # a name that no file can have
            raise FaultError(f"{place}: {shown(named)} names no file: {error}") from error
        if not is_inside:
            raise FaultError(f"{place}: {shown(named)} leads out of {base}; it is not read")
        if not is_there:
            raise FaultError(f"{place}: there is no file {shown(named)} in {base}")
        check_pointer(path)
        return path

    def text_document(
        self, path: Path, *, document_id: str, title: str = "", translates: bool = False
    ) -> DatasetDocument:
        """Return a document from a text file.

        Args:
            path: Path of the file.
            document_id: Id of the document in the dataset.
            title: Title; empty for none.
            translates: Whether positions in the dataset count every line end as one character.

        Raises:
            OptionError: If the file cannot be read.
            FaultError: If the file is not UTF-8.
        """
        text = read_text(path)
        if translates:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return DatasetDocument(id=document_id, title=title, text=text)


def json_value(path: Path) -> object:
    """Return the value in a JSON file.

    Raises:
        OptionError: If the file cannot be read.
        FaultError: If the file is not JSON.
    """
    with opened(path) as stream:
        return parsed(stream.read().removeprefix(BOM), path.name)


def csv_rows(path: Path, *, columns: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a CSV file with a header.

    Raises:
        OptionError: If the file cannot be read.
        FaultError: If the file is not CSV, or a column is missing.
    """
    lines = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        named = lines.fieldnames or ()
        for column in columns:
            if column not in named:
                raise FaultError(
                    f"{path.name}: no column is named {column!r}; it has {list(named)}"
                )
        for row in lines:
            yield Row(row, f"{path.name}:{lines.line_num}")
    except csv.Error as error:
        raise FaultError(f"{path.name}:{lines.line_num}: no CSV: {error}; correct it") from error


def read_text(path: Path) -> str:
    """Return the text of a file, with its original line ends.

    Raises:
        OptionError: If the file cannot be read.
        FaultError: If the file is not UTF-8.
    """
    with opened(path) as stream:
        return decoded(stream.read(), path.name)


def check_pointer(path: Path) -> None:
    """Check that a file is not a Git LFS pointer.

    Raises:
        OptionError: If the file is a pointer, or cannot be read.
    """
    with opened(path):
        pass
