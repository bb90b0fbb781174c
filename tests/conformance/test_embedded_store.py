"""The embedded store passes the suite, and processes share it."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.stores.embedded import open_embedded
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.store_entries import SETTINGS, make_corpus, make_entry, question
from spanwise.testing.store_suite import check_scan
from spanwise.testing.stores import StoreConformance

_OTHER_PROCESS = """
import sys
from pathlib import Path
from spanwise.stores.embedded import open_embedded
from spanwise.testing.store_entries import make_entry

store = open_embedded(Path(sys.argv[1]), create=False)
assert store.delete_document(sys.argv[2]), "what the other process wrote is not there"
store.put_document(make_entry("other", ["a lease from elsewhere"], title="lease"))
if sys.argv[3] == "compact":
    store.compact()
store.close()
"""


_TALKER = """
import sys
from pathlib import Path
from spanwise.stores.embedded import open_embedded
from spanwise.testing.store_entries import make_output
from spanwise.testing.store_records import make_turn

store = open_embedded(Path(sys.argv[1]), create=False)
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]} {number}"
    store.put_outputs([make_output(name, name * 9)])
    store.append_turn("shared", make_turn(name))
    print(name, flush=True)
"""


class TestEmbeddedStore(StoreConformance):
    """In a folder, shared by all who open it."""

    on_disk = True

    def open_store(self, path: Path) -> Store:
        """Open the folder."""
        return open_embedded(path)


def talker(path: Path, name: str, turns: int) -> subprocess.Popen[str]:
    """Start a process that keeps outputs and turns, and says each name when both are kept."""
    return subprocess.Popen(
        [sys.executable, "-c", _TALKER, str(path), name, str(turns)],
        stdout=subprocess.PIPE,
        text=True,
    )


def questions(path: Path) -> list[str]:
    """Return the questions of the shared conversation, after all has been checked."""
    with closing(open_embedded(path)) as store:
        assert store.check().findings == ()
        thread = store.get_thread("shared")
        assert thread is not None
        asked = [turn.question for turn in thread.turns]
        assert thread.info.turns == len(asked)
        for name in asked:
            assert store.get_outputs([name]) == {name: name * 9}
    return asked


def test_processes_talk_in_one_conversation(tmp_path: Path) -> None:
    """No turn is lost, those of each are in their order, while documents come in."""
    path = tmp_path / "a.kb"
    with closing(open_embedded(path)) as store:
        store.ensure_settings(SETTINGS)
        children = [talker(path, name, 30) for name in ("left", "right")]
        for entry in make_corpus():
            store.put_document(entry)
        assert [child.communicate(timeout=60)[0].count("\n") for child in children] == [30, 30]
    asked = questions(path)
    assert len(asked) == 60
    for name in ("left", "right"):
        assert [one for one in asked if one.startswith(name)] == [f"{name} {n}" for n in range(30)]


@pytest.mark.parametrize("turns", [1, 2, 7, 20])
def test_what_was_kept_survives_a_kill(tmp_path: Path, turns: int) -> None:
    """Every turn that was acknowledged, in order, and at most the next one."""
    path = tmp_path / "a.kb"
    with closing(open_embedded(path)) as store:
        store.ensure_settings(SETTINGS)
    with talker(path, "one", 10_000) as child:
        assert child.stdout is not None
        for _ in range(turns):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        told = turns + len(child.stdout.readlines())
    asked = questions(path)
    assert asked == [f"one {number}" for number in range(len(asked))]
    assert len(asked) in (told, told + 1)


def test_another_process_reads_and_writes_at_once(tmp_path: Path) -> None:
    """A handle that stays open sees what another process did, as soon as it is done."""
    path = tmp_path / "a.kb"
    query = question("lease margin")
    with closing(open_embedded(path)) as store:
        store.ensure_settings(SETTINGS)
        entries: list[DocumentEntry] = []
        for entry in make_corpus()[:6]:
            store.put_document(entry)
            entries.append(entry)
        check_scan(store, entries, query)
        for how in ("leave", "compact"):
            gone = entries.pop(2)
            subprocess.run(
                [sys.executable, "-c", _OTHER_PROCESS, str(path), gone.document.id, how], check=True
            )
            entries = [entry for entry in entries if entry.document.id != "other"]
            entries.append(make_entry("other", ["a lease from elsewhere"], title="lease"))
            check_scan(store, entries, query)
