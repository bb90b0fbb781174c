"""Evaluate retrieval on published datasets: python -m benchmarks.evaluate --dataset NAME=PATH.

    python -m benchmarks.evaluate --dataset financebench=path/to/checkout --limit 100
    python -m benchmarks.evaluate --dataset cuad=CUADv1.json --store single --report cuad.html

Takes every option of `spanwise eval` and writes the same figures and reports. The datasets are read
from local copies; nothing is downloaded. Their documents are added to a knowledge base in the work
folder. A file of questions may be named too. `--smoke` runs on a tiny dataset.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack, cast, get_args

import click

from benchmarks.lib.published_sets import DATASETS, Store, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.cli.arguments import creation_keywords
from spanwise.cli.commands.add import interruptible_bar
from spanwise.cli.commands.eval import (
    EvaluationCommand,
    EvaluationSet,
    open_questions,
    run_evaluation,
)
from spanwise.cli.evaluation_arguments import EvalArguments, eval_options, work_folder
from spanwise.cli.failures import ExitCode
from spanwise.cli.program import cli, execute
from spanwise.config import parse_options
from spanwise.evaluation.dataset import Dataset
from spanwise.evaluation.dataset_ingest import knowledge_base_of

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class _Arguments(EvalArguments):
    dataset: tuple[str, ...]
    store: Store


@click.command(
    "eval",
    cls=EvaluationCommand,
    program="python -m benchmarks.evaluate",
    short_help="Measure retrieval on published datasets.",
    examples=[
        (
            "a hundred questions of a dataset",
            "python -m benchmarks.evaluate --dataset financebench=path/to/checkout --limit 100",
        )
    ],
)
@click.option(
    "--dataset",
    multiple=True,
    metavar="NAME=PATH",
    help=f"Published dataset in a local folder; repeat for more. Names are {', '.join(DATASETS)}.",
)
@click.option(
    "--store",
    type=click.Choice(get_args(Store)),
    default="shared",
    show_default=True,
    help="Ask each question of all documents of its dataset, or only of those with its evidence.",
)
@eval_options
def evaluate_published(**arguments: Unpack[_Arguments]) -> ExitCode:
    """Measure retrieval on published datasets, with every option of `spanwise eval`.

    The datasets are read from local copies. Their documents are added to a knowledge base in the
    work folder. A file of questions may be named too.
    """
    return run_evaluation(arguments, _open_sets)


def _open_sets(arguments: EvalArguments, stack: ExitStack) -> tuple[EvaluationSet, ...]:
    """Return the questions of the file and of the datasets, each with its knowledge base.

    Raises:
        UsageError: If there are no questions, or two sets have one name. No document is added then.
    """
    given = cast("_Arguments", arguments)
    own = open_questions(arguments, stack)
    read = [_read(pair, store=given["store"]) for pair in given["dataset"]]
    if not own and not read:
        raise click.UsageError("there are no questions; name a file of them, or a --dataset")
    names = Counter([one.dataset.name for one in own] + [dataset.name for dataset, _ in read])
    for name, times in names.items():
        if times > 1:
            raise click.UsageError(f"two sets of questions are called {name!r}; measure them apart")
    return (*own, *(_opened(dataset, path, arguments, stack) for dataset, path in read))


def _read(pair: str, *, store: Store) -> tuple[Dataset, Path]:
    """Return the dataset of a pair NAME=PATH, and its folder.

    Raises:
        UsageError: If the text is not such a pair.
    """
    name, separator, path = pair.partition("=")
    if not separator or not name or not path:
        raise click.UsageError(
            f"{pair!r} is no NAME=PATH pair; write it like financebench=path/to/checkout"
        )
    return read_dataset(name, path, store=store), Path(path)


def _opened(
    dataset: Dataset, source: Path, arguments: EvalArguments, stack: ExitStack
) -> EvaluationSet:
    """Return a dataset with its knowledge base in the work folder; missing documents are added."""
    place = hashlib.sha256(str(source.resolve()).encode("utf-8", "replace")).hexdigest()[:8]
    work = work_folder(arguments)
    path = work / f"{_UNSAFE.sub('-', dataset.name)}-{place}.kb"
    work.mkdir(parents=True, exist_ok=True)
    with interruptible_bar(path, quiet=arguments["as_json"]) as bar:
        base = knowledge_base_of(
            dataset,
            path,
            on_document=bar.on_document,
            parse=parse_options(),
            **creation_keywords(path),
        )
    stack.enter_context(base)
    return EvaluationSet(dataset=dataset, base=base, path=path)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    shipped = cli.commands["eval"]
    cli.add_command(evaluate_published)
    try:
        return execute(["eval", *arguments], install_handlers=lambda: None)
    finally:
        cli.add_command(shipped)


def main() -> None:
    """Run the command line of this process."""
    if "--smoke" not in sys.argv:
        sys.exit(run(sys.argv[1:]))
    with TemporaryDirectory() as folder:
        write_samples(Path(folder))
        name = SAMPLE_SETS[0]
        sys.exit(
            run(
                [
                    *("--dataset", f"spanwise={Path(folder) / name}"),
                    *("--work", str(Path(folder) / "work")),
                    *("--budget", "100"),
                ]
            )
        )


if __name__ == "__main__":
    main()
