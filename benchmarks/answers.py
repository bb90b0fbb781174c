"""Measure the answers of a model: python -m benchmarks.answers --dataset NAME=PATH --llm MODEL.

    python -m benchmarks.answers --dataset financebench=path/to/checkout --llm openai:gpt-5
    python -m benchmarks.answers --dataset kite=path/to/checkout --llm openai:gpt-5
    python -m benchmarks.answers questions.jsonl --kb reports.kb --llm ollama:qwen3

Each question is asked of all documents of its dataset (`--store single`: only of its own), by
`KnowledgeBase.ask` with a budget of 4,000 tokens. A judge grades each answer against the right
answer or by a rubric. The report has accuracy or points, refusals, the share of quotes that were
found, answers that quote other documents, calls and cost, with 95 % intervals.

The judge is the answering model unless `--judge` names another one. A different
model is a better judge, because models prefer their own text. `--dry-run` estimates the cost,
`--max-cost` limits it, and an interrupted run continues where it stopped. All options of
`spanwise eval` are accepted. `--smoke` replays exchanges about documents of our own, right and
wrong ones, from a scripted server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.exchanges import EXCHANGES, ExchangeModel, exchange_base
from tests.servers.scripted import ScriptedServer

from benchmarks.evaluate import run

BUDGET = 4_000


def arguments_of(given: Sequence[str]) -> list[str]:
    """Return the arguments of `benchmarks.evaluate`: the given ones, and defaults."""
    added = ["--answers"]
    if "--judge" not in given and "--llm" in given[:-1]:
        added += ["--judge", given[given.index("--llm") + 1]]
    if "--budget" not in given:
        added += ["--budget", str(BUDGET)]
    return [*given, *added]


def smoke() -> int:
    """Replay the exchanges, and return the exit code."""
    with TemporaryDirectory() as name, ScriptedServer(ExchangeModel()) as server:
        folder = Path(name)
        exchange_base(folder / "sample.kb").close()
        questions = folder / "exchanges.jsonl"
        write_exchanges(questions)
        return run(
            arguments_of(
                [
                    *(str(questions), "--kb", str(folder / "sample.kb")),
                    *("--metric", "doc_recall"),
                    *("--llm", f"compatible:scripted@{server.url}/v1"),
                ]
            )
        )


def write_exchanges(path: Path) -> None:
    """Write the questions of the exchanges, with their right answers, as a file for `eval`."""
    rows = [
        {
            "id": f"exchange-{number:02d}",
            "question": exchange.question,
            "answer": exchange.gold,
            "evidence": [{"document_id": exchange.document_id}] if exchange.document_id else [],
            "metadata": {"answerable": bool(exchange.document_id)},
        }
        for number, exchange in enumerate(EXCHANGES, 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    """Run the command line of this process."""
    sys.exit(smoke() if "--smoke" in sys.argv else run(arguments_of(sys.argv[1:])))


if __name__ == "__main__":
    main()
