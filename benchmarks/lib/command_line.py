"""The command line that measurements on datasets share, and their short run on samples."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.lib.sample import SAMPLE_SETS, write_samples

__all__ = ["command_line", "given"]


def command_line(
    description: str | None,
    *,
    sets: Sequence[str] = (),
    queries: int | None = None,
    writes: bool = True,
) -> ArgumentParser:
    """Return a parser of `datasets`, `--sets`, `--queries`, `--out` and `--smoke`.

    Args:
        description: What the script measures.
        sets: Measured when none are named; where it is always the same, there are no `--sets` and
            no `--queries`.
        queries: Most of each set when nothing is said; None for all.
        writes: Whether it keeps something in a folder, `--out`.
    """
    parser = ArgumentParser(description=description)
    parser.add_argument("datasets", type=Path, nargs="?", help="folder with a folder for each set")
    if writes:
        parser.add_argument("--out", type=Path, default=Path("benchmarks/out"))
    if sets:
        most = "all" if queries is None else str(queries)
        said = f"at most so many a set, 0 for all; {most} when not given"
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
    """Give what the command line says; of a short run, samples in a folder that goes with it.

    Args:
        parser: Of `command_line`.
        write: Writes the samples into a folder.
        sets: Their names.
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
