"""A copy that is killed at any moment is continued, and is then like an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.rebuilds import SUBJECTS, fill

from spanwise import KnowledgeBase
from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.text.terms import text_terms
from spanwise.knowledge_base.internals import store_of
from spanwise.stores.embedded import open_embedded
from spanwise.stores.port import Store
from spanwise.testing.store_entries import fingerprint, make_output
from spanwise.testing.store_records import make_turn

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = 8
_STEPS = (1, 4, _DOCUMENTS + 1)


def results(store: Store) -> list[object]:
    """Return everything that a copy must have, in an order that shows the age of documents."""
    queries = [
        ScanQuery(terms=tuple(text_terms(subject)), vector=None, hits=400) for subject in SUBJECTS
    ]
    return [
        store.list_records(),
        store.list_outputs(),
        [store.get_thread(info.id) for info in store.list_threads()],
        *(fingerprint(store, query) for query in queries),
    ]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a knowledge base."""
    path = tmp_path_factory.mktemp("source") / "source.kb"
    with KnowledgeBase(path, embedder=None) as base:
        fill(base, _DOCUMENTS)
        base.add_text("The margin was small.", document_id="0")  # now the newest document
        for number in range(150):
            store_of(base).put_outputs([make_output(f"{number}", "kept")])
        store_of(base).append_turn("thread", make_turn("Who?"))
    return path


@pytest.mark.parametrize("step", _STEPS)
def test_a_killed_copy_is_continued(source: Path, tmp_path: Path, step: int) -> None:
    target = tmp_path / "target.kb"
    command = [sys.executable, "-m", "tests.crash.copy_child", str(source), str(target)]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(step):
            assert process.stdout.readline()
        time.sleep(random.Random(step).uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
    with KnowledgeBase(source, create=False) as base:
        report = base.copy_to(target, verify="all")
        assert report.copied <= report.documents - min(step, report.documents)
        assert base.copy_to(target).copied == 0
        base.copy_to(tmp_path / "undisturbed.kb")
        expected = results(store_of(base))
    for name in ("target.kb", "undisturbed.kb"):
        with closing(open_embedded(tmp_path / name, create=False)) as copied:
            assert results(copied) == expected
            assert copied.check().sound
