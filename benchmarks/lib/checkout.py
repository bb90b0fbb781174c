"""Local copy of a published dataset: its folder, and files of CSV, JSON and text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DatasetDocument
from spanwise.evaluation.datasets.faults import FaultError, shown
from spanwise.evaluation.datasets.json_lines import BOM, Row, decoded, opened, parsed


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where the files of a dataset lie."""

    name: str
    """Of the dataset."""
    folder: Path
    """What the user named; a file where the dataset is a single one."""

    def find(self, *paths: str) -> Path:
        """Return the first file or folder that there is, of places where it was published.

        Args:
            *paths: Relative to the folder, with "/".

        Raises:
            OptionError: If there is none; the message names what was looked for.
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
        """Return a file that a data file names.

        Args:
            base: Folder that the name starts at, which it cannot leave.
            named: Relative path.
            place: Where it is named.

        Raises:
            FaultError: If the file is not there, or not in the folder.
            OptionError: If it is a pointer of Git LFS, or cannot be read.
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
        """Return a document whose text evidence points into.

        Args:
            path: Of the file.
            document_id: Its id in the dataset.
            title: Its title; empty where it has none.
            translates: Whether offsets count every end of a line as one character, as Python does
                where a file is opened as text.

        Raises:
            OptionError: If it cannot be read.
            FaultError: If it is not UTF-8.
        """
        text = read_text(path)
        if translates:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return DatasetDocument(id=document_id, title=title, text=text)


def json_value(path: Path) -> object:
    """Return what a file of JSON holds.

    Raises:
        OptionError: If there is no such file, or it cannot be read.
        FaultError: If it is no JSON.
    """
    with opened(path) as stream:
        return parsed(stream.read().removeprefix(BOM), path.name)


def csv_rows(path: Path, *, columns: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a CSV file with a line of names.

    Raises:
        OptionError: If there is no such file, or it cannot be read.
        FaultError: If it is no CSV, or a column is missing.
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
    """Return a text, character for character.

    Raises:
        OptionError: If there is no such file, or it cannot be read.
        FaultError: If it is not UTF-8.
    """
    with opened(path) as stream:
        return decoded(stream.read(), path.name)


def check_pointer(path: Path) -> None:
    """Refuse a file that only stands for one that Git LFS keeps elsewhere.

    Raises:
        OptionError: If it is one, or cannot be read.
    """
    with opened(path):
        pass
