"""Measure the support of statements: python -m benchmarks.support DATASETS.

The statements are the known answers of questions, with their evidence as quotes: whole, or only the
lines with words of the answer. Answers without a mark are right; a mark on a number, date or name
that the evidence contains is a false alarm. Altered answers, with a changed digit, scale or year,
must be marked. The table and all errors are printed as Markdown.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.lib.datasets import SourceDocument, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.core.answers.support import QuotedPassage, Support, unsupported_claims
from spanwise.evaluation.datasets import read_questions

ABOVE_CHARS, BELOW_CHARS = 3_000, 1_500
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_SCALE = re.compile(r"\b(million|billion)\b")
_OTHER = {"million": "billion", "billion": "million"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A known answer with its evidence."""

    id: str
    question: str
    answer: str
    quotes: Sequence[QuotedPassage]

    def marks(self, statement: str, *, short: bool = False) -> list[str]:
        """Return the marked parts of a statement.

        Args:
            statement: The answer, or an altered one.
            short: Whether only the lines with words of the answer are quoted.
        """
        quotes = [line for quote in self.quotes for line in self._lines(quote)] if short else ()
        support = Support(quotes=quotes or self.quotes, question=self.question)
        return [statement[c.start : c.end] for c in unsupported_claims(statement, support)]

    def _lines(self, quote: QuotedPassage) -> Iterator[QuotedPassage]:
        """Yield the lines with a number of the answer; without numbers, with half of its words."""
        wanted = {word.lower() for word in _WORD.findall(self.answer)}
        numbers = {word for word in wanted if word.isdigit()}
        start = 0
        for line in quote.text.splitlines(keepends=True):
            words = {word.lower() for word in _WORD.findall(line)}
            if numbers & words if numbers else 2 * len(wanted & words) >= len(wanted):
                above = quote.above + quote.text[:start]
                yield QuotedPassage(
                    text=line, above=above, segment=quote.segment, place=quote.place
                )
            start += len(line)


def altered(case: Case, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the answer with a changed digit, scale or year, with the kind of the change."""
    answer = case.answer
    digits = [match.start() for match in _DIGIT.finditer(answer)]
    if digits:
        at = rng.choice(digits)
        digit = (int(answer[at]) + rng.randint(1, 9)) % 10
        yield "a digit changed", f"{answer[:at]}{digit}{answer[at + 1 :]}"
    if scale := _SCALE.search(answer):
        yield (
            "million for billion",
            answer[: scale.start()] + _OTHER[scale[1]] + answer[scale.end() :],
        )
    if year := _YEAR.search(answer):
        for change in (-1, 7):
            other = f"{answer[: year.start()]}{int(year.group()) + change}{answer[year.end() :]}"
            yield f"another year ({change:+d})", other


@dataclass(slots=True)
class Tally:
    """Results of one set."""

    counts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    """Number of right results and of all results, by row of the table."""
    wrong: list[str] = field(default_factory=list)

    def judge(self, kind: str, case: Case, statement: str, *, is_right: bool) -> None:
        """Count a result."""
        self.counts[kind][0] += is_right
        self.counts[kind][1] += 1
        if not is_right:
            self.wrong.append(f"{kind}: {case.id}: {statement!r}: {case.marks(statement)}")


def read_cases(folder: Path) -> Iterator[Case]:
    """Yield the answers of a dataset whose evidence has a place."""
    documents = {document.id: document for document in read_dataset(folder).documents}
    texts: dict[str, str] = {}
    for question in read_questions(folder / "queries.jsonl"):
        places = [
            (piece.document_id, piece.start, piece.end)
            for piece in question.evidence
            if piece.start is not None and piece.end is not None
        ]
        if not question.answer or not places:
            continue
        quotes = []
        for document_id, start, end in places:
            if document_id not in texts:
                texts[document_id] = documents[document_id].text()
            quotes.append(_passage(texts[document_id], start, end, documents[document_id]))
        yield Case(id=question.id, question=question.text, answer=question.answer, quotes=quotes)


def _passage(text: str, start: int, end: int, document: SourceDocument) -> QuotedPassage:
    above = text[max(0, start - ABOVE_CHARS) : start]
    return QuotedPassage(
        text=text[start:end],
        above=above,
        segment=above + text[start : end + BELOW_CHARS],
        place=f"{document.title}\n{document.id}",
    )


def judged(folder: Path, *, seed: int) -> Tally:
    """Return the results of a dataset."""
    rng = random.Random(seed)
    tally = Tally()
    for case in read_cases(folder):
        marks = case.marks(case.answer)
        tally.judge("no mark: whole evidence quoted", case, case.answer, is_right=not marks)
        if marks:  # computed or reworded: the marks are right, or counted as false already
            continue
        short = case.marks(case.answer, short=True)
        tally.judge("no mark: single lines quoted", case, case.answer, is_right=not short)
        for kind, statement in altered(case, rng):
            tally.judge(f"mark: {kind}", case, statement, is_right=bool(case.marks(statement)))
    return tally


def run(folders: Sequence[Path], *, seed: int, wrong: int) -> None:
    """Print the table, and the errors of each set."""
    tallies = {folder.name: judged(folder, seed=seed) for folder in folders}
    kinds = dict.fromkeys(kind for tally in tallies.values() for kind in tally.counts)
    print(f"| expected outcome | {' | '.join(tallies)} |")
    print("|---" * (len(tallies) + 1) + "|")
    for kind in kinds:
        cells = [
            "{} of {}".format(*tally.counts[kind]) if kind in tally.counts else ""
            for tally in tallies.values()
        ]
        print(f"| {kind} | {' | '.join(cells)} |")
    for name, tally in tallies.items():
        for line in tally.wrong[:wrong]:
            print(f"- {name}: {line}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path, nargs="*", help="folders of datasets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--wrong", type=int, default=20, help="maximum number of errors shown per set"
    )
    parser.add_argument("--smoke", action="store_true", help="a tiny run on samples of our own")
    arguments = parser.parse_args()
    options = {"seed": arguments.seed, "wrong": arguments.wrong}
    if arguments.smoke:
        with tempfile.TemporaryDirectory() as place:
            write_samples(Path(place))
            run([Path(place) / name for name in SAMPLE_SETS], **options)
    elif not arguments.datasets:
        parser.error("name the folders of datasets, or --smoke")
    else:
        run(arguments.datasets, **options)


if __name__ == "__main__":
    main()
