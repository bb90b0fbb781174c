"""What the parser's process may not do where the kernel has Landlock."""

from __future__ import annotations

import json
import socket
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.options import ParseOptions
from spanwise.parsers.process.isolation import ParserPool
from spanwise.parsers.process.landlock import landlock_version

NEEDS_FILES = pytest.mark.skipif(landlock_version() < 3, reason="the kernel has no Landlock")
NEEDS_TCP = pytest.mark.skipif(landlock_version() < 4, reason="its Landlock knows no TCP")
HOOK = """
import json, os, socket, sys

def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return type(error).__name__

def attack(event, arguments):
    if event != "open" or not str(arguments[0]).endswith("attack.md") or ran:
        return
    ran.append(True)
    outside, port = {outside!r}, {port}
    seen = {{
        "read": attempt(lambda: open(outside + "/kept", "rb").close()),
        "write": attempt(lambda: open(outside + "/made", "wb").close()),
        "change": attempt(lambda: open(outside + "/kept", "ab").close()),
        "remove": attempt(lambda: os.unlink(outside + "/kept")),
        "folder": attempt(lambda: os.mkdir(outside + "/folder")),
        "link": attempt(lambda: os.symlink("/", outside + "/link")),
        "child": str(os.system("echo > " + outside + "/child 2> /dev/null") != 0),
        "temporary": attempt(lambda: open({temporary!r} + "/made", "wb").close()),
        "connect": attempt(lambda: socket.create_connection(("127.0.0.1", port)).close()),
    }}
    with open({temporary!r} + "/seen.json", "w") as file:
        json.dump(seen, file)

ran = []
if "worker" in " ".join(sys.orig_argv):
    sys.addaudithook(attack)
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what came of each thing that code in the parser's process tried."""
    outside, temporary, hook = (tmp_path / name for name in ("outside", "temporary", "hook"))
    for folder in (outside, temporary, hook):
        folder.mkdir()
    (outside / "kept").write_bytes(b"kept")
    (outside / "attack.md").write_text("# Dues\n\nThe harbour dues rose.\n", "utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.syspath_prepend(str(hook))
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        values = {"outside": str(outside), "temporary": str(temporary)}
        port = server.getsockname()[1]
        (hook / "sitecustomize.py").write_text(HOOK.format(port=port, **values), "utf-8")
        with ParserPool(options=ParseOptions()) as pool:
            document = pool.parse(
                outside / "attack.md", document_id="a", source="attack.md", source_root=""
            )
    assert "harbour dues" in document.text
    assert {one.name for one in outside.iterdir()} == {"attack.md", "kept"}
    found: dict[str, str] = json.loads((temporary / "seen.json").read_text("utf-8"))
    return found


@NEEDS_FILES
def test_the_parser_writes_temporary_files_alone(seen: dict[str, str]) -> None:
    names = ("write", "change", "remove", "folder", "link")
    assert {seen[name] for name in names} == {"PermissionError"}
    assert seen["child"] == "True"
    assert (seen["read"], seen["temporary"]) == ("done", "done")


@NEEDS_TCP
def test_the_parser_connects_to_nothing(seen: dict[str, str]) -> None:
    assert seen["connect"] == "PermissionError"
