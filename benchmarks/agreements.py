"""Measure the fields of contracts: python -m benchmarks.agreements CUAD --labels LABELS.csv.

`CUAD` is a folder in the format of `benchmarks/lib/datasets.py` with contracts of CUAD v1, and the
labels are the file `master_clauses.csv` of its release. The contracts are divided into two halves
by a hash of their ids: the rules were adjusted with the first half only. `--others` names datasets
without labels; the number of their documents with fields is printed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from benchmarks.lib.datasets import read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.filters import value_texts
from spanwise.packs.agreement_covers import agreement_fields, agreement_title
from spanwise.packs.filing_covers import company_name
from spanwise.types import MetadataValue

HALVES = ("tuning", "test")
_LEAST_PREFIX = 4
_LETTERS = re.compile(r"[^a-z0-9]+")
_TERM = re.compile(r"\([^()]*[\"\u201c\u201d][^()]*\)")
_ALL_PARTIES = re.compile(r"\A[^()]*\band\b[^()]*\(.*\bpart(?:y|ies)\b", re.IGNORECASE)
_NO_NAME = re.compile(r"\bform of\b|\bd\Z|\([^()]*\)?")
_NUMBERS = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})")
_FIRST_CENTURY = 50  # two-digit years from 50 belong to the 20th century

Labels = Mapping[str, str]


@dataclass(slots=True)
class Count:
    """Counts of one field: values that the rules give, labelled values, and matches of both."""

    given: int = 0
    labelled: int = 0
    right: int = 0
    found: int = 0

    def add(self, given: Sequence[str], labelled: Sequence[str], same: Same) -> None:
        """Add the values of one contract."""
        self.given += len(given)
        self.labelled += len(labelled)
        self.right += sum(any(same(one, other) for other in labelled) for one in given)
        self.found += sum(any(same(one, other) for one in given) for other in labelled)

    def row(self, *names: str) -> str:
        """Return a row of the table."""
        precision = f"{self.right / self.given:.2f}" if self.given else ""
        recall = f"{self.found / self.labelled:.2f}" if self.labelled else ""
        cells = [*names, self.labelled, self.given, self.right, precision, recall]
        return f"| {' | '.join(map(str, cells))} |"


Same = Callable[[str, str], bool]


@dataclass(slots=True)
class Tally:
    """Counts of all fields for one half of the contracts."""

    documents: int = 0
    titled: int = 0
    counts: dict[str, Count] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)

    def add(self, name: str, fields: Mapping[str, MetadataValue], labels: Labels) -> None:
        """Compare the fields of a contract with its labels."""
        self.documents += 1
        self.titled += bool(agreement_title(fields))
        for column, (given_of, labelled_of, same) in _COLUMNS.items():
            given = [value for value in given_of(fields) if value]
            labelled = [value for value in labelled_of(labels) if value]
            count = self.counts.setdefault(column, Count())
            before = (count.right, count.found)
            count.add(given, labelled, same)
            added = (count.right - before[0], count.found - before[1])
            if added != (len(given), len(labelled)):
                self.misses.append(f"{name}: {column}: {given}, labelled {labelled}")


def _letters(text: str) -> str:
    return _LETTERS.sub(" ", text.lower()).strip()


def _name(text: str) -> str:
    """Return the name of an agreement without "form of" and additions in parentheses."""
    return _letters(_NO_NAME.sub(" ", _letters_kept(text)))


def _letters_kept(text: str) -> str:
    return " ".join(text.lower().split())


def _party(text: str) -> str:
    """Return a party without its terms and legal form."""
    bare = _TERM.sub("", text).strip(" ,")
    return _letters(company_name(bare, text="") or bare)


def _parties(labels: Labels) -> list[str]:
    """Return the labelled parties, without the phrase that calls all of them "the parties"."""
    parts = [part for part in labels["Parties-Answer"].split(";") if not _ALL_PARTIES.search(part)]
    return [_party(part) for part in parts]


def _day(text: str) -> str:
    """Return a labelled date (m/d/yy) as YYYY-MM-DD; empty if it has blanks."""
    match = _NUMBERS.fullmatch(text.strip())
    if match is None:
        return ""
    month, day, year = map(int, match.groups())
    if year < 100:
        year += 1900 if year >= _FIRST_CENTURY else 2000
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _effective(labels: Labels) -> list[str]:
    return [_day(labels["Effective Date-Answer"]) or _day(labels["Agreement Date-Answer"])]


def _is_same_party(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= _LEAST_PREFIX and longer.startswith(shorter))


def _is_same_law(given: str, labelled: str) -> bool:
    first = re.split("[;,]", labelled)[0]
    return _letters(given) in _letters(labelled) or _letters(first) in _letters(given)


def _values(
    name: str, read: Callable[[str], str]
) -> Callable[[Mapping[str, MetadataValue]], list[str]]:
    return lambda fields: [read(value) for value in value_texts({name: fields.get(name, ())})]


_COLUMNS: Mapping[
    str,
    tuple[Callable[[Mapping[str, MetadataValue]], list[str]], Callable[[Labels], list[str]], Same],
] = {
    "agreement": (
        _values("agreement", _name),
        lambda labels: [_name(labels["Document Name-Answer"])],
        str.__eq__,
    ),
    "parties": (_values("parties", _party), _parties, _is_same_party),
    "effective_date": (_values("effective_date", str), _effective, str.__eq__),
    "governing_law": (
        _values("governing_law", str),
        lambda labels: [labels["Governing Law-Answer"].strip()],
        _is_same_law,
    ),
}


def half_of(name: str) -> str:
    """Return the half that a contract belongs to."""
    return HALVES[hashlib.sha256(name.encode()).digest()[0] % 2]


def read_labels(path: Path) -> dict[str, Labels]:
    """Return the labels of contracts by the letters and digits of their file names."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = list(csv.DictReader(file))
    return {_letters(row["Filename"].rpartition(".")[0]): row for row in rows}


def run(folder: Path, labels_file: Path, others: Iterable[Path], *, with_misses: bool) -> None:
    """Print the table of a dataset, and the number of fields in other datasets."""
    labels = read_labels(labels_file)
    tallies = {half: Tally() for half in HALVES}
    for document in read_dataset(folder).documents:
        row = labels.get(_letters(document.id))
        if row is not None:
            fields = agreement_fields(document.text())
            tallies[half_of(document.id)].add(document.id, fields, row)
    print("| half | field | labelled | given | right | precision | recall |")
    print("|---" * 7 + "|")
    for half, tally in tallies.items():
        for column, count in tally.counts.items():
            print(count.row(half, column))
    for half, tally in tallies.items():
        print(f"\n{half}: {tally.titled} of {tally.documents} contracts have a title of their own")
        for miss in tally.misses if with_misses else ():
            print(f"- {miss}")
    for other in others:
        documents = read_dataset(other).documents
        found = [document.id for document in documents if agreement_fields(document.text())]
        print(f"\n{other.name}: {len(found)} of {len(documents)} documents have fields")


def write_contract(folder: Path) -> Path:
    """Write a set with one generated contract, and return its file of labels."""
    (folder / "documents").mkdir(parents=True)
    text = (
        "BERTH LEASE AGREEMENT\n\nThis Berth Lease Agreement is made as of May 3, 2021 between"
        ' Altby Harbour, Inc. ("Lessor") and Wide Waters Ltd. ("Lessee").\n\n'
        "This Agreement is governed by the laws of the State of Maine.\n"
    )
    (folder / "documents" / "a.txt").write_text(text, encoding="utf-8", newline="")
    row = '{"doc_id": "berth_lease", "path": "documents/a.txt", "title": ""}\n'
    (folder / "documents.jsonl").write_text(row, encoding="utf-8")
    (folder / "queries.jsonl").write_text("", encoding="utf-8")
    labels = folder / "labels.csv"
    with labels.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        fields = ("Document Name", "Parties", "Agreement Date", "Effective Date", "Governing Law")
        writer.writerow(["Filename", *(f"{name}-Answer" for name in fields)])
        who = 'Altby Harbour, Inc. ("Lessor"); Wide Waters Ltd. ("Lessee")'
        writer.writerow(["berth lease.pdf", "BERTH LEASE AGREEMENT", who, "5/3/21", "", "Maine"])
    return labels


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, nargs="?", help="folder with contracts of CUAD")
    parser.add_argument("--labels", type=Path, help="the file master_clauses.csv of CUAD")
    parser.add_argument("--others", type=Path, nargs="+", default=[], help="other datasets")
    parser.add_argument("--misses", action="store_true", help="print all errors")
    parser.add_argument("--smoke", action="store_true", help="a tiny run on samples of our own")
    arguments = parser.parse_args()
    if arguments.smoke:
        with tempfile.TemporaryDirectory() as place:
            write_samples(Path(place))
            labels = write_contract(Path(place) / "sample_contract")
            others = [Path(place) / name for name in SAMPLE_SETS]
            run(Path(place) / "sample_contract", labels, others, with_misses=True)
    elif arguments.dataset is None or arguments.labels is None:
        parser.error("name the folder of a dataset and its --labels, or --smoke")
    else:
        run(arguments.dataset, arguments.labels, arguments.others, with_misses=arguments.misses)


if __name__ == "__main__":
    main()
