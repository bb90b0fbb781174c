"""Measure company, form and year read from first pages: python -m benchmarks.covers SET SET ...

Documents with descriptive names ("BOEING_2018_10K", "2023_Q1_AAPL") are compared with their
names. "one name" counts filings with the most frequent name of their company in the set. Every
other document is not a filing and must get no field. Correct fields are counted, and all errors are
printed.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.lib.datasets import read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.packs.filing_covers import cover_fields
from spanwise.types import MetadataValue

_NAME_FIRST = re.compile(
    r"(?P<company>[A-Z0-9]+?)_(?P<year>\d{4})(?:Q\d)?_(?P<form>10K|10Q|8K|20F|EARNINGS)(?:_.*)?"
)
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})_Q\d_(?P<ticker>[A-Z]+)")
_FORMS = {"10K": "10-K", "10Q": "10-Q", "8K": "8-K", "20F": "20-F", "EARNINGS": "earnings release"}
_COLUMNS = ("company", "form", "year", "fiscal year")
Fields = Mapping[str, MetadataValue]


class Tally:
    """Counts of correct fields for one set."""

    def __init__(self) -> None:
        self.right = dict.fromkeys(_COLUMNS, 0)
        self.named = 0
        self.others = 0
        self.wrongly = 0
        self.misses: list[str] = []
        self.companies: dict[str, Counter[MetadataValue]] = defaultdict(Counter)

    def add(self, name: str, fields: Fields) -> None:
        """Compare the fields read from a first page with the name of the document."""
        match = _NAME_FIRST.fullmatch(name) or _YEAR_FIRST.fullmatch(name)
        if match is None:
            self.others += 1
            if fields:
                self.wrongly += 1
                self.misses.append(f"{name}: {dict(fields)}")
            return
        self.named += 1
        is_right = self._compared(match.groupdict(), fields)
        for column in _COLUMNS:
            self.right[column] += is_right[column]
        if not all(is_right.values()):
            wrong = ", ".join(column for column in _COLUMNS if not is_right[column])
            self.misses.append(f"{name}: {wrong}: {dict(fields)}")

    def _compared(self, named: Mapping[str, str], fields: Fields) -> dict[str, bool]:
        years = {str(fields.get("fiscal_year")), str(fields.get("period_end"))[:4]}
        company = fields.get("company", "")
        names = self.companies[named.get("ticker") or named["company"]]
        names[company] += 1
        is_right = company != "" and len(names) == 1
        if "ticker" not in named:
            is_right = is_called(str(company), named["company"])
        return {
            "company": is_right,
            "form": fields.get("form") == _FORMS[named.get("form", "10Q")],
            "year": named["year"] in years,
            "fiscal year": named["year"] == str(fields.get("fiscal_year")),
        }

    def row(self, name: str) -> str:
        """Return a row of the table."""
        cells = [f"{self.right[column]}/{self.named}" if self.named else "" for column in _COLUMNS]
        most = sum(max(names.values()) for names in self.companies.values())
        cells.insert(1, f"{most}/{self.named}" if self.named else "")
        others = f"{self.wrongly}/{self.others}" if self.others else ""
        return f"| {' | '.join([name, *cells, others])} |"


def is_called(company: str, label: str) -> bool:
    """Return whether a name begins with a label or has it as initials; only letters count."""
    letters = "".join(filter(str.isalnum, company)).upper()
    initials = "".join(word[0] for word in company.split()).upper()
    return letters.startswith(label) or initials == label


def run(folders: Iterable[Path]) -> None:
    """Print the table and the errors of some sets."""
    columns = ("set", _COLUMNS[0], "one name", *_COLUMNS[1:], "fields of what is no filing")
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    misses = []
    for folder in folders:
        tally = Tally()
        for document in read_dataset(folder).documents:
            tally.add(document.id, cover_fields(document.text()))
        print(tally.row(folder.name), flush=True)
        misses += tally.misses
    print("\nMisses:" if misses else "\nNo misses.")
    for miss in misses:
        print(f"- {miss}")


def write_filing(folder: Path) -> None:
    """Write a set with one generated filing."""
    (folder / "documents").mkdir(parents=True)
    text = (
        "UNITED STATES\nSECURITIES AND EXCHANGE COMMISSION\nFORM 10-K\n"
        "For the fiscal year ended December 31, 2021\nCommission file number 1-23456\n"
        "ALTBY HARBOUR CORPORATION\n(Exact name of registrant as specified in its charter)\n"
    )
    (folder / "documents" / "a.txt").write_text(text, encoding="utf-8", newline="")
    row = {"doc_id": "ALTBYHARBOUR_2021_10K", "path": "documents/a.txt", "title": ""}
    (folder / "documents.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (folder / "queries.jsonl").write_text("", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path, nargs="*", help="folders of datasets")
    parser.add_argument("--smoke", action="store_true", help="a tiny run on samples of our own")
    arguments = parser.parse_args()
    if arguments.smoke:
        with tempfile.TemporaryDirectory() as place:
            write_samples(Path(place))
            write_filing(Path(place) / "sample_filing")
            run([Path(place) / name for name in ("sample_filing", *SAMPLE_SETS)])
    elif not arguments.datasets:
        parser.error("name the folders of datasets, or --smoke")
    else:
        run(arguments.datasets)


if __name__ == "__main__":
    main()
