"""Measure the quote checker on copied and altered quotes: python -m benchmarks.quotes DATASETS.

Random word sequences are cut from the documents. The checker receives each one unchanged, with
different typography, and altered to another meaning, together with the surrounding pages. Rows of
tables are checked as well, among them all kinds of rows next to a word such as "None" or "Non-".
Copied quotes must pass; altered quotes must fail unless the text contains them too. The table and
all errors are printed as Markdown.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.lib.datasets import read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.core.answers.quote_words import compared_words, is_guarded, is_negation, read_tokens
from spanwise.core.answers.quotes import QuoteChecker

Change = Callable[[str, random.Random], str | None]
"""Returns a changed quote, None where there is nothing to change."""

SHOWN_CHARS = 30_000
WORDS = (8, 50)
QUOTE_CHARS = 400  # what has no spaces between its words is cut there
NEAR_WORDS = 20  # of which one may differ
OPPOSITES = (
    *("increase decrease", "increased decreased", "increases decreases", "rose fell"),
    *("higher lower", "more less", "above below", "before after", "maximum minimum"),
    *("profit loss", "included excluded", "over under", "up down", "may shall"),
)
_TURNED = {
    one: other for pair in OPPOSITES for one, other in (pair.split(), reversed(pair.split()))
}
_CUTS = re.compile(r"\S*\w\S*")  # where a quote may begin or end: no lone mark or currency
_DIGIT = re.compile(r"\d")
_GROUPED = re.compile(r"(?<![\w.,])([1-9]\d{0,2}),(\d{3})(?![\d,])")
_ROW = re.compile(  # a label of at most eight words, and at least two numbers
    r"^[^\S\n]*([A-Za-z][\w,'’()&/-]*(?:[^\S\n]+[A-Za-z(&][\w,'’()&/-]*){0,7}"
    r"(?:[^\S\n|]*[|$€£]?[^\S\n]*\(?[\d,.]*\d\)?%?){2,8})[^\S\n]*$",
    re.MULTILINE,
)
_AMOUNT = re.compile(r"\d[\d,.]*\d")
_DENYING_BEFORE = re.compile(r"\b(?:non|no|not|none|without|nor)[-\s]*$", re.IGNORECASE)
_DENYING_AFTER = re.compile(r"\s*(?:(?:non|no|not|none|neither|nor|without)\b|%)", re.IGNORECASE)
_LOSS = re.compile(r"\(\s?([\d,.]*\d)\s?\)")


def as_it_is(quote: str, _: random.Random) -> str:
    """Return the quote."""
    return quote


def set_otherwise(quote: str, _: random.Random) -> str:
    """Return it with other quotation marks, dashes, ligatures and line breaks."""
    for one, other in (("'", "’"), ('"', "“"), ("fi", "ﬁ"), (" ", "\n"), ("\u2013", "-")):
        quote = quote.replace(one, other)
    return quote


def ungrouped(quote: str, _: random.Random) -> str | None:
    """Return it with 1577 for 1,577."""
    changed = _GROUPED.sub(r"\1\2", quote)
    return None if changed == quote else changed


def misspelt(quote: str, rng: random.Random) -> str | None:
    """Return a long quote with another spelling of an ordinary word."""
    words = quote.split()
    plain = [
        at
        for at, word in enumerate(words)
        if re.fullmatch("[a-z]{5,}", word) and not is_guarded(word)
    ]
    if len(compared_words(read_tokens(quote))) < NEAR_WORDS or not plain:
        return None
    at = rng.choice(plain[1:-1] or plain)
    return " ".join([*words[:at], words[at] + "x", *words[at + 1 :]])


def other_digit(quote: str, rng: random.Random) -> str | None:
    """Return it with one digit changed."""
    digits = list(_DIGIT.finditer(quote))
    if not digits:
        return None
    at = rng.choice(digits).start()
    digit = (int(quote[at]) + rng.randint(1, 9)) % 10
    return f"{quote[:at]}{digit}{quote[at + 1 :]}"


def no_negation(quote: str, rng: random.Random) -> str | None:
    """Return it without one of its negations."""
    words = quote.split()
    denying = [at for at, word in enumerate(words) if is_negation(word.casefold())]
    if not denying:
        return None
    at = rng.choice(denying)
    return " ".join([*words[:at], *words[at + 1 :]])


def negated(quote: str, rng: random.Random) -> str:
    """Return it with a "not" put in."""
    words = quote.split()
    at = rng.randint(1, len(words) - 1)
    return " ".join([*words[:at], "not", *words[at:]])


def gain(quote: str, _: random.Random) -> str | None:
    """Return it with the first loss in brackets without them."""
    changed = _LOSS.sub(r"\1", quote, count=1)
    return None if changed == quote else changed


def turned(quote: str, rng: random.Random) -> str | None:
    """Return it with "fell" for "rose" or the like."""
    words = quote.split()
    found = [at for at, word in enumerate(words) if word in _TURNED]
    if not found:
        return None
    at = rng.choice(found)
    return " ".join([*words[:at], _TURNED[words[at]], *words[at + 1 :]])


def shuffled(quote: str, rng: random.Random) -> str | None:
    """Return its words in another order."""
    words = quote.split()
    rng.shuffle(words)
    return None if words == quote.split() else " ".join(words)


def swapped(row: str, _: random.Random) -> str | None:
    """Return a table row with its first two numbers exchanged."""
    numbers = list(_AMOUNT.finditer(row))
    if len(numbers) < 2 or numbers[0].group() == numbers[1].group():
        return None
    first, second = numbers[:2]
    between = row[first.end() : second.start()]
    return f"{row[: first.start()]}{second[0]}{between}{first[0]}{row[second.end() :]}"


def rescaled(row: str, _: random.Random) -> str | None:
    """Return a table row with one digit more in its first number."""
    number = _AMOUNT.search(row)
    return f"{row[: number.end()]}0{row[number.end() :]}" if number else None


MUST_VERIFY_ROWS: dict[str, Change] = {"a table row": as_it_is}
MUST_FAIL_ROWS: dict[str, Change] = {
    "a digit of a row changed": other_digit,
    "two numbers of a row exchanged": swapped,
    "a number of a row with a digit more": rescaled,
}
MUST_VERIFY: dict[str, Change] = {
    "copied": as_it_is,
    "set otherwise": set_otherwise,
    "1577 for 1,577": ungrouped,
    "a word misspelt, of 20 or more": misspelt,
}
MUST_FAIL: dict[str, Change] = {
    "a digit changed": other_digit,
    "a negation dropped": no_negation,
    "a negation put in": negated,
    "cut off from a negation": as_it_is,
    "brackets of a loss dropped": gain,
    "a direction turned": turned,
    "words shuffled": shuffled,
}


@dataclass(slots=True)
class Tally:
    """What became of the quotes of one set, kind by kind."""

    right: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    tried: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        """Add what became of others."""
        for kind, count in other.tried.items():
            self.tried[kind] += count
            self.right[kind] += other.right[kind]
        self.wrong += other.wrong
        self.seconds += other.seconds

    def judge(self, kind: str, quote: str, checker: QuoteChecker) -> None:
        """Check a quote."""
        began = time.perf_counter()
        checked = checker.check(quote, cited=[0])
        self.seconds += time.perf_counter() - began
        is_right = (checked.status != "failed") == (kind in MUST_VERIFY | MUST_VERIFY_ROWS)
        self.tried[kind] += 1
        self.right[kind] += is_right
        if not is_right:
            self.wrong.append(f"{kind}: {checked.status}: {quote!r}")

    def cell(self, kind: str) -> str:
        """Return how many were judged rightly, of how many."""
        return f"{self.right[kind]}/{self.tried[kind]}" if self.tried[kind] else ""


def is_cut_off(text: str, start: int, end: int) -> bool:
    """Return whether a word that denies stands directly before a range or after it."""
    before = re.search(r"([\w'’]+)(?:\s+|-)$", text[max(0, start - 40) : start])
    after = re.match(r"\s+([\w'’]+)", text[end : end + 40])
    beside = [before] if text[end - 1] in ".,;:!?" else [before, after]
    words = [one[1].casefold().replace("’", "'") for one in beside if one is not None]
    return any(map(is_negation, words))


def cuts_a_number(text: str, start: int, end: int) -> bool:
    """Return whether a range may cut a number from its sign, its brackets or its per cent."""
    return text[:start].rstrip()[-1:] in "(<>-" or text[end:].lstrip()[:1] in ")%‰"


def judged(texts: list[str], *, quotes: int, seed: int) -> Tally:
    """Return what becomes of quotes that are cut from texts at random."""
    rng = random.Random(seed)
    tally = Tally()
    for _ in range(quotes):
        text = rng.choice(texts)
        place = rng.randint(0, max(0, len(text) - SHOWN_CHARS))
        shown = text[place : place + SHOWN_CHARS]
        words = [match.span() for match in _CUTS.finditer(shown)][1:-1]
        count = rng.randint(*WORDS)
        if len(words) <= count:
            continue
        first = rng.randint(0, len(words) - count)
        start = words[first][0]
        end = max(one for _, one in words[first : first + count] if one <= start + QUOTE_CHARS)
        if cuts_a_number(shown, start, end):
            continue
        cut_off = is_cut_off(shown, start, end)
        checker = QuoteChecker([shown])
        plain = " ".join(shown.split())
        kinds = {"cut off from a negation": as_it_is} if cut_off else MUST_VERIFY | MUST_FAIL
        for kind, change in kinds.items():
            if not cut_off and kind == "cut off from a negation":
                continue
            quote = change(shown[start:end], rng)
            if quote is None:
                continue
            if kind in MUST_FAIL and not cut_off and " ".join(quote.split()) in plain:
                continue
            tally.judge(kind, quote, checker)
    return tally


def has_denial_beside(text: str, row: re.Match[str]) -> bool:
    """Return whether a negating word or a percent sign is next to a row, on another line."""
    before, after = text[max(0, row.start() - 12) : row.start()], text[row.end() : row.end() + 12]
    return bool(_DENYING_BEFORE.search(before) or _DENYING_AFTER.match(after))


def judged_rows(texts: list[str], *, rows: int, seed: int) -> Tally:
    """Return the results for table rows; at most half of the rows are next to a negating word.

    Args:
        texts: Documents.
        rows: Maximum number of rows per document.
        seed: Seed of the selection.
    """
    rng = random.Random(seed)
    tally = Tally()
    for text in texts:
        found = list(_ROW.finditer(text))
        special = [row for row in found if has_denial_beside(text, row)]
        picked = rng.sample(special, min(rows // 2, len(special)))
        picked += rng.sample(found, min(rows - len(picked), len(found)))
        for row in sorted(set(picked), key=lambda match: match.start()):
            place = max(0, row.start(1) - SHOWN_CHARS // 2)
            shown = text[place : place + SHOWN_CHARS]
            checker, plain = QuoteChecker([shown]), " ".join(shown.split())
            for kind, change in (MUST_VERIFY_ROWS | MUST_FAIL_ROWS).items():
                quote = change(row[1], rng)
                if quote is None:
                    continue
                if kind in MUST_FAIL_ROWS and " ".join(quote.split()) in plain:
                    continue
                tally.judge(kind, quote, checker)
    return tally


def run(folders: Iterable[Path], *, quotes: int, rows: int, seed: int, wrong: int) -> None:
    """Print the table of some sets, and what was judged wrongly."""
    tallies = {}
    for folder in folders:
        texts = [one for one in (doc.text() for doc in read_dataset(folder).documents) if one]
        tallies[folder.name] = judged(texts, quotes=quotes, seed=seed)
        tallies[folder.name].add(judged_rows(texts, rows=rows, seed=seed))
    everything = Tally()
    for tally in tallies.values():
        everything.add(tally)
    columns = [*tallies, "all"]
    print(f"| judged rightly | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    titles = (
        ("verified", MUST_VERIFY | MUST_VERIFY_ROWS),
        ("failed", MUST_FAIL | MUST_FAIL_ROWS),
    )
    for title, kinds in titles:
        for kind in kinds:
            cells = [one.cell(kind) for one in (*tallies.values(), everything)]
            print(f"| {title}: {kind} | {' | '.join(cells)} |")
    tried = sum(everything.tried.values())
    print(f"\n{tried:,} quotes, {everything.seconds / tried * 1_000:.2f} ms each")
    for name, tally in tallies.items():
        for line in tally.wrong[:wrong]:
            print(f"- {name}: {line}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path, nargs="*", help="folders of datasets")
    parser.add_argument("--quotes", type=int, default=1_000, help="runs of words of each set")
    parser.add_argument(
        "--rows", type=int, default=40, help="maximum number of table rows per document"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", type=int, default=20, help="most that are shown of each set")
    parser.add_argument("--smoke", action="store_true", help="a tiny run on samples of our own")
    arguments = parser.parse_args()
    options = {"seed": arguments.seed, "wrong": arguments.wrong}
    if arguments.smoke:
        with tempfile.TemporaryDirectory() as place:
            write_samples(Path(place))
            run([Path(place) / name for name in SAMPLE_SETS], quotes=20, rows=10, **options)
    elif not arguments.datasets:
        parser.error("name the folders of datasets, or --smoke")
    else:
        run(arguments.datasets, quotes=arguments.quotes, rows=arguments.rows, **options)


if __name__ == "__main__":
    main()
