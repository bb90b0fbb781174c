"""Checks of a store: the cache of model outputs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spanwise.stores.port import Store
from spanwise.testing.store_entries import SETTINGS, make_entry
from spanwise.testing.store_suite import StoreSuite

_ODD_OUTPUTS = (
    "",
    "{}",
    "zero \x00 byte",
    "half \ud800 pair",
    "収益 \U0010ffff\r\n",
    "x" * 1_000_000,
)
_THREADS = 8
_EACH = 25


class OutputChecks(StoreSuite):
    """Contract of `OutputCache`."""

    def test_an_output_comes_back_as_it_was_put(self, store: Store) -> None:
        """An output is returned unchanged, under its key only."""
        for number, output in enumerate(_ODD_OUTPUTS):
            store.put_output(f"key {number}", output, task="title", model="a:b")
        for number, output in enumerate(_ODD_OUTPUTS):
            assert store.get_output(f"key {number}") == output, "as it was put"
        assert store.get_output("key") is None
        assert store.get_output("half \ud800 pair") is None

    def test_the_first_output_under_a_key_stays(self, store: Store) -> None:
        """A second output under a key is ignored: the request was the same."""
        store.put_output("key", "first", task="title", model="a:b")
        store.put_output("key", "second", task="title", model="a:c")
        assert store.get_output("key") == "first", "the first one stays"

    def test_outputs_do_not_depend_on_documents(self, store: Store) -> None:
        """Outputs stay when their documents are deleted."""
        store.put_document(make_entry("a", ["lease"]))
        store.put_output("key", "kept", task="title", model="a:b")
        store.delete_document("a")
        store.optimise()
        assert store.get_output("key") == "kept"

    def test_outputs_are_counted_and_forgotten(self, store: Store) -> None:
        """All outputs can be deleted; later ones are stored again."""
        assert store.count_outputs() == (0, 0)
        store.put_output("one", "12345", task="title", model="a:b")
        store.put_output("two", "é", task="title", model="a:b")
        assert store.count_outputs() == (2, 7), "number and bytes in UTF-8"
        assert store.forget_outputs() == 2
        assert store.get_output("one") is None, "forgotten"
        assert store.forget_outputs() == 0
        store.put_output("one", "again", task="title", model="a:b")
        assert store.get_output("one") == "again"

    def test_threads_keep_outputs_at_once(self, store: Store) -> None:
        """A thread reads its output at once; threads with equal keys read the same one."""
        begun = threading.Barrier(_THREADS)

        def keep(thread: int) -> set[str | None]:
            begun.wait(timeout=60)
            found = set()
            for number in range(_EACH):
                key = f"{thread} {number}"
                store.put_output(key, key, task="title", model="a:b")
                assert store.get_output(key) == key, "as soon as it was put"
                store.put_output(f"shared {number}", key, task="title", model="a:b")
                found.add(store.get_output(f"shared {number}"))
            return found

        with ThreadPoolExecutor(_THREADS) as pool:
            found = [
                future.result(timeout=60)
                for future in [pool.submit(keep, thread) for thread in range(_THREADS)]
            ]
        assert all(one == found[0] for one in found), "the same for all"
        assert store.count_outputs()[0] == (_THREADS + 1) * _EACH

    def test_outputs_are_there_when_it_is_opened_again(self, tmp_path: Path) -> None:
        """Outputs persist and are visible to other handles; a store in memory begins empty."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        beside = self.open_store(tmp_path / "store")
        store.put_output("key", "kept", task="title", model="a:b")
        expected = "kept" if self.on_disk else None
        assert beside.get_output("key") == expected, "another handle"
        store.close()
        beside.close()
        again = self.open_store(tmp_path / "store")
        assert again.get_output("key") == expected, "opened again"
        again.close()
