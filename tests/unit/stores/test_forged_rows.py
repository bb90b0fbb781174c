"""Documents that someone changed and sealed again: an error names them, and a check finds them."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.rebuilds import HashEmbedder

from spanwise import KnowledgeBase
from spanwise.errors import FormatError
from spanwise.stores.row_checksums import checksum, seal_document

TEXT = "# Pier\n\nThe pier is 30 m long.\n\n## Dues\n\nFive.\n"
QUESTION = "How long is the pier?"
STATEMENTS = {
    "key": "update chunk set key = key + 7",
    "section": "update chunk set section = 9",
    "negative section": "update chunk set section = -1",
    "start": "update chunk set start = start + 1",
    "no text": "update chunk set text = ''",
    "bytes": "update chunk set text = cast(text as blob)",
    "tokens": "update chunk set tokens = -1",
    "sections": "delete from section",
    "gap": "update section set start = 5",
    "path": "update section set path = '{}'",
    "count": "update document set chunks = 4000000000",
    "number of characters": "update document set chars = 'x'",
    "metadata": "update document set metadata = '[]'",
    "title": "update document set title = x'00'",
    "vectors": "update vector set data = x'00'",
}
UNREAD = {"start", "vectors", "gap"}
"""Changes that only a search without an index reads."""
KEYS = {"section": "position", "chunk": "key"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forged") / "a.kb"
    with open_base(path) as base:
        base.add_text(TEXT, document_id="pier.md", media_type="text/markdown")
        base.compact()
    return path


def open_base(path: Path) -> KnowledgeBase:
    return KnowledgeBase(path, embedder=HashEmbedder(), packs=())


def read(base: KnowledgeBase) -> None:
    base.search(QUESTION)
    base.list()


def forge(sound: Path, path: Path, statement: str) -> None:
    """Copy a closed knowledge base, change its rows and seal them again."""
    shutil.copytree(sound, path)
    with closing(sqlite3.connect(path / "truth.db")) as new:
        assert new.execute(statement).rowcount
        for table in ("section", "chunk"):
            for rowid, *row in new.execute(f"select {KEYS[table]}, * from {table}").fetchall():
                new.execute(
                    f"update {table} set checksum = ? where {KEYS[table]} = ?",
                    (checksum(row[:-1]), rowid),
                )
        seal_document(new, 1)
        new.commit()


@pytest.mark.parametrize(
    ("name", "indexed"),
    [(n, i) for n in STATEMENTS for i in (False, True) if not (i and n in UNREAD)],
)
def test_a_forged_document_is_named(
    sound: Path, tmp_path: Path, name: str, *, indexed: bool
) -> None:
    forge(sound, tmp_path / "b.kb", STATEMENTS[name])
    if not indexed:
        shutil.rmtree(tmp_path / "b.kb" / "index")
    with open_base(tmp_path / "b.kb") as base:
        with pytest.raises(FormatError, match="spanwise doctor") as raised:
            read(base)
        assert "'pier.md'" in str(raised.value)
        assert not base.check().sound


def test_the_copy_is_sound_without_a_change(sound: Path, tmp_path: Path) -> None:
    forge(sound, tmp_path / "b.kb", "update document set title = title")
    with open_base(tmp_path / "b.kb") as base:
        assert base.check().sound
        assert base.search(QUESTION).context
