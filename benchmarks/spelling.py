"""Measure corrections of typing errors: python -m benchmarks.spelling DATASETS.

Each question gets one generated typing error in a word that the documents contain: two letters are
swapped, or one is dropped, doubled or replaced. The reworded questions have correct words that the
documents do not contain; replacing one of them is an error.
"""

from __future__ import annotations

import random
import string
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Query, read_dataset
from benchmarks.lib.training import build
from benchmarks.named_things import reworded
from benchmarks.quality import Measured, cell, spanwise_search
from spanwise.core.ranking.question import read_question
from spanwise.core.text.terms import content_words
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.options import SegmentOptions
from spanwise.search.question_limits import read_questions
from spanwise.search.shipped_model import shipped_model

_QUESTIONS = 25
_LEAST_LETTERS = 4


def misspell(word: str, draw: random.Random) -> str:
    """Return a word with one typing error."""
    at = draw.randrange(0 if draw.random() < 0.15 else 1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    other = draw.choice(string.ascii_lowercase.replace(letter, ""))
    errors = (after[0] + letter + after[1:], after, letter + letter + after, other + after)
    misspelt = before + draw.choice(errors)
    return misspelt if misspelt != word else misspell(word, draw)


def known_words(base: KnowledgeBase, text: str) -> dict[str, bool]:
    """Return, for each content word that consists of letters, whether a chunk contains it."""
    words = dict.fromkeys(word for word in content_words(text) if word.isalpha())
    with store_of(base).snapshot() as snapshot:
        languages = snapshot.languages()
        forms = [read_question(word, languages=languages).forms()[0] for word in words]
        return {
            word: bool(snapshot.term_counts(terms)[0].any())
            for word, terms in zip(words, forms, strict=True)
        }


def corrections(base: KnowledgeBase, text: str) -> dict[str, str]:
    """Return the corrections of a question, by word."""
    with store_of(base).snapshot() as snapshot:
        (question,) = read_questions([text], snapshot)
    return {correction.word: correction.found for correction in question.corrections}


def with_errors(
    base: KnowledgeBase, queries: Sequence[Query], draw: random.Random
) -> list[tuple[Query, Query, str]]:
    """Return each question, the same question with one typing error, and the misspelt word."""
    asked: list[tuple[Query, Query, str]] = []
    for query in draw.sample(queries, len(queries)):
        words = [
            word
            for word, is_known in known_words(base, query.text).items()
            if is_known and word.isascii() and len(word) >= _LEAST_LETTERS
        ]
        if words and len(asked) < _QUESTIONS:
            word = draw.choice(words)
            misspelt = misspell(word, draw)
            asked.append(
                (query, replace(query, text=query.text.replace(word, misspelt, 1)), misspelt)
            )
    return asked


def row(base: KnowledgeBase, name: str, queries: Sequence[Query], others: Sequence[Query]) -> str:
    """Return the row of a set."""
    asked = with_errors(base, queries, random.Random(name))
    mended = sum(misspelt in corrections(base, query.text) for _, query, misspelt in asked)
    unknown = {
        word
        for query in others
        for word, is_known in known_words(base, query.text).items()
        if not is_known
    }
    replaced = {word for query in others for word in corrections(base, query.text)}
    search = spanwise_search(
        searcher_of(base, shipped_model()), SegmentOptions.BALANCED, abstain=False
    )
    right = cell(Measured(search, [query for query, _, _ in asked]))
    wrong = cell(Measured(search, [query for _, query, _ in asked]))
    return (
        f"| {name} | {len(asked)} | {mended} | {right} | {wrong} | {len(unknown)} "
        f"| {len(replaced)} |"
    )


def run(datasets: Path, names: Sequence[str]) -> None:
    """Measure the sets and print a row for each."""
    print("| set | errors | corrected | recall without errors | with | unknown words | replaced |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            dataset = read_dataset(datasets / name)
            with build(dataset, Path(folder)) as base:
                print(row(base, name, dataset.queries, reworded(datasets / name)), flush=True)


def main() -> None:
    """Read the command line and run."""
    with given(command_line(__doc__, sets=TEXT_SETS, writes=False)) as arguments:
        run(arguments.datasets, arguments.sets)


if __name__ == "__main__":
    main()
