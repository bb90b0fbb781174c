"""Compute the mean of word vectors: python -m benchmarks.word_mean DATASETS [--sets NAMES].

Writes `word_mean.json`, the mean of the unit vectors of all words of the sets, to the output
folder; copy it to `src/spanwise/models/word_mean.json`, and increase the version of the word
vectors (`spanwise.models.word_vectors`). A word counts once, however often it occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, read_dataset
from spanwise.core.ranking.similar_words import listed_words
from spanwise.core.text.terms import term_words
from spanwise.models.providers.wordllama import WordLlama
from spanwise.models.word_vectors import unit_word_vectors

_ROW_NUMBERS = 8


def run(datasets: Path, out: Path, names: Sequence[str]) -> None:
    """Write the mean over the words of some sets to a folder."""
    words: set[str] = set()
    for name in names:
        for document in read_dataset(datasets / name).documents:
            words |= {word for _, word in listed_words(term_words(document.text()))}
    mean = unit_word_vectors(sorted(words), WordLlama()).mean(axis=0)
    numbers = [f"{number:.6f}" for number in mean.tolist()]
    rows = [
        ", ".join(numbers[first : first + _ROW_NUMBERS])
        for first in range(0, len(numbers), _ROW_NUMBERS)
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "word_mean.json").write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(f"{len(words)} words of {', '.join(names)}")


def main() -> None:
    """Run the command line."""
    with given(command_line(__doc__, sets=TEXT_SETS)) as arguments:
        run(arguments.datasets, arguments.out, arguments.sets)


if __name__ == "__main__":
    main()
