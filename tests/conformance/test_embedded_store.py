"""The embedded store passes the suite, and processes share it."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from spanwise.ports import DocumentEntry, Store
from spanwise.stores.embedded import open_embedded
from spanwise.testing.entries import SETTINGS, make_corpus, make_entry
from spanwise.testing.questions import question
from spanwise.testing.store_suite import check_scan
from spanwise.testing.stores import StoreConformance

_OTHER_PROCESS = """
import sys
from pathlib import Path
from spanwise.stores.embedded import open_embedded
from spanwise.testing.entries import make_entry

store = open_embedded(Path(sys.argv[1]), create=False)
assert store.delete_document(sys.argv[2]), "what the other process wrote is not there"
store.put_document(make_entry("other", ["a lease from elsewhere"], title="lease"))
if sys.argv[3] == "optimise":
    store.optimise()
store.close()
"""


class TestEmbeddedStore(StoreConformance):
    """In a folder, shared by all who open it."""

    on_disk = True

    def open_store(self, path: Path) -> Store:
        """Open the folder."""
        return open_embedded(path)


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
        for how in ("leave", "optimise"):
            gone = entries.pop(2)
            subprocess.run(
                [sys.executable, "-c", _OTHER_PROCESS, str(path), gone.document.id, how], check=True
            )
            entries = [entry for entry in entries if entry.document.id != "other"]
            entries.append(make_entry("other", ["a lease from elsewhere"], title="lease"))
            check_scan(store, entries, query)
