"""A reader that belongs to another user, as a process: prints what it saw as JSON.

Run with the folder of a knowledge base, one for warming up, and `keep` or `anew`: whether the first
one stays open or is opened for each read. Everything is imported by a search
of the second one, before the process gives up its rights: the interpreter itself may lie where the
other user cannot look. It reads until its standard input is closed.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from spanwise import KnowledgeBase
from spanwise.errors import DocumentNotFoundError

OTHER_USER = 65534
LINES = 60
LINE = "{name} of version {version} tells how the toll of lock {line} is paid. "


def text_of(name: str, version: int) -> str:
    """Return the text of a version of a document."""
    return "".join(
        LINE.format(name=name, version=version, line=line)
        for line in range(LINES * (1 + version % 3))
    )


def version_of(text: str, name: str) -> int:
    """Return the version of a text that is whole, -1 for one that is not."""
    found = re.match(rf"{name} of version (\d+) ", text)
    version = int(found[1]) if found else -1
    return version if version >= 0 and text == text_of(name, version) else -1


class Reader:
    """Counts what goes wrong, and remembers the last version of each document."""

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.reads = 0
        self.latest: dict[str, int] = {}

    def see(self, name: str, text: str, *, whole: bool = True) -> None:
        """Note a text that was read; a part of one if it is not whole."""
        found = re.search(r"of version (\d+) tells", text)
        version = version_of(text, name) if whole else int(found[1]) if found else -1
        if version < 0 or len(set(re.findall(r"of version (\d+) tells", text))) != 1:
            self.faults[f"torn {name}"] += 1
        elif version < self.latest.get(name, 0):
            self.faults[f"{name} went back"] += 1
        else:
            self.latest[name] = version

    def read(self, base: KnowledgeBase) -> None:
        """Read once in each way."""
        for record in base.list():
            try:
                document = base.get(record.id)
            except DocumentNotFoundError:  # deleted since
                continue
            self.see(record.id, document.text)
        for segment in base.search("How is the toll of a lock paid?").segments:
            self.see(segment.document_id, segment.text, whole=False)
        self.reads += 1

    def read_anew(self, path: Path) -> None:
        """Open the knowledge base and read once in each way."""
        with closing(KnowledgeBase(path, create=False)) as base:
            self.read(base)

    def versions(self, base: KnowledgeBase) -> dict[str, int]:
        """Return the version of each document."""
        ids = [record.id for record in base.list()]
        return {name: version_of(base.get(name).text, name) for name in ids}

    def try_read(self, read: Callable[[], None]) -> None:
        """Read; an error is a fault."""
        try:
            read()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            self.faults[f"{type(error).__name__}: {error}"[:160]] += 1


class Complaints(logging.Handler):
    """Counts what the log calls damaged."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        self.reader.faults[f"log: {record.getMessage()}"[:160]] += 1


def is_over() -> bool:
    """Return whether the writer is done."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main(path: Path, warming: Path, *, keeps_open: bool) -> None:
    """Read in a loop, then print what was seen."""
    reader = Reader()
    with KnowledgeBase(warming) as base:
        reader.read(base)
    reader.latest.clear()
    logging.getLogger("spanwise").addHandler(Complaints(reader))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(OTHER_USER)
        os.setuid(OTHER_USER)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if keeps_open:
        with closing(KnowledgeBase(path, create=False)) as base:
            while not is_over():
                reader.try_read(lambda: reader.read(base))
            found = reader.versions(base)
    else:
        while not is_over():
            reader.try_read(lambda: reader.read_anew(path))
        with closing(KnowledgeBase(path, create=False)) as base:
            found = reader.versions(base)
    json.dump({"reads": reader.reads, "faults": reader.faults, "found": found}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), keeps_open=sys.argv[3] == "keep")
