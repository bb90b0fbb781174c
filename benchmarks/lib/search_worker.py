"""Process of `benchmarks.speed` that searches with the code of a checkout.

It is started by its path and uses only the public interface, so that it works with other versions.
Arguments: the folder with the package, the knowledge base, a folder of files to add to a new one,
and the budget in tokens. For each question (a line of JSON), it prints the elapsed time and the
processor time of its search.
"""

from __future__ import annotations

import importlib
import json
import sys
import time


def main() -> None:
    """Open or make the knowledge base, then answer questions until the input ends."""
    source, path, texts, budget = sys.argv[1:]
    sys.path.insert(0, source)
    with importlib.import_module("spanwise").KnowledgeBase(path) as base:
        if not base.info().documents:
            base.add(texts)
            base.compact()
        print(base.info().chunks, flush=True)
        for line in sys.stdin:
            question = json.loads(line)
            started, used = time.perf_counter(), time.process_time()
            base.search(question, budget_tokens=int(budget))
            seconds = time.perf_counter() - started, time.process_time() - used
            print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
