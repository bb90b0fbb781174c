"""Shared command line of the benchmark scripts, and their smoke test on samples."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.core.ranking.features import FEATURES

__all__ = ["check_features", "command_line", "given", "numbers"]


def command_line(
    description: str | None,
    *,
    sets: Sequence[str] = (),
    queries: int | None = None,
    writes: bool = True,
) -> ArgumentParser:
    """Return a parser of `datasets`, `--sets`, `--queries`, `--out` and `--smoke`.

    Args:
        description: Description of the script.
        sets: Default sets; None if the sets are fixed, which leaves out `--sets` and `--queries`.
        queries: Default maximum number of questions per set; None for all.
        writes: Whether the script writes to a folder (`--out`).
    """
    parser = ArgumentParser(description=description)
    parser.add_argument("datasets", type=Path, nargs="?", help="folder with a folder for each set")
    if writes:
        parser.add_argument("--out", type=Path, default=Path("benchmarks/out"))
    if sets:
        most = "all" if queries is None else str(queries)
        said = f"maximum number of questions per set, 0 for all; default: {most}"
        parser.add_argument("--sets", nargs="+", default=list(sets))
        parser.add_argument("--queries", type=int, default=queries, help=said)
    parser.add_argument("--smoke", action="store_true", help="a tiny run on samples of our own")
    return parser


@contextmanager
def given(
    parser: ArgumentParser,
    *,
    write: Callable[[Path], None] = write_samples,
    sets: Sequence[str] = SAMPLE_SETS,
) -> Iterator[Namespace]:
    """Yield the parsed command line; in a smoke test, with samples in a temporary folder.

    Args:
        parser: Parser made by `command_line`.
        write: Function that writes the samples to a folder.
        sets: Names of the samples.
    """
    arguments = parser.parse_args()
    if arguments.smoke:
        with TemporaryDirectory() as folder:
            write(Path(folder))
            arguments.datasets, arguments.out = Path(folder), Path(folder) / "out"
            arguments.sets, arguments.queries = list(sets), None
            yield arguments
        return
    if arguments.datasets is None:
        parser.error("name the folder of the datasets, or --smoke")
    arguments.queries = getattr(arguments, "queries", None) or None
    yield arguments


def numbers(pairs: Sequence[str]) -> dict[str, float]:
    """Return the numbers of options of the form "NAME=VALUE" by name."""
    named = [pair.partition("=") for pair in pairs]
    return {name: float(value) for name, _, value in named}


def check_features(parser: ArgumentParser, names: Iterable[str]) -> None:
    """End with an error if a name is not the name of a feature."""
    unknown = sorted(set(names) - set(FEATURES))
    if unknown:
        parser.error(f"unknown feature {unknown[0]!r}; the features are {', '.join(FEATURES)}")
