"""Loss of power, simulated from the recorded file calls of an operation.

strace records every write, flush, rename and deletion of an operation with its data. The state of
the disk is then computed for a loss of power after any recorded call.

Rules:
    `fsync` and `fdatasync` of a file make its earlier writes durable, but not its name.
    `fsync` of a folder makes the earlier creations, renames and deletions in it durable.
    Of everything else, a loss of power leaves nothing, all, or a random choice: each write is
    kept, dropped or torn at a multiple of 512 bytes, and of the changes of names a random number
    of the first ones is kept.
    The shared memory of SQLite (`-shm`) is lost.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tests.crash.operation_kills import Workplace
from tests.crash.operations import NAMES, Place, check_after_fault
from tests.crash.traced import run_traced

Survival = Literal["nothing", "all", "some"]
"""How much survives of what was not flushed."""

_CALLS = (
    "openat,pwrite64,write,writev,lseek,fsync,fdatasync,ftruncate,rename,renameat,renameat2,"
    "unlink,unlinkat,mkdir,mkdirat,rmdir"
)
_MAX_STRING = 1 << 24
_SECTOR_BYTES = 512
_LINE = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)", re.DOTALL)
_DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>\s?")


@dataclass(frozen=True, slots=True)
class Call:
    """One successful call of the system."""

    name: str
    path: str
    """Path of the file or folder."""
    begun: int
    """Number of calls that had ended when this one began."""
    target: str = ""
    """New path of a rename."""
    data: bytes = b""
    offset: int = 0
    """Offset of a write, or length of a truncation."""
    flags: str = ""


def record(workplace: Workplace) -> list[Call]:
    """Run an operation undisturbed, and return its file calls, and its acknowledgements."""
    workplace.reset()
    trace = workplace.folder / "trace"
    options = ["-y", "-xx", "-s", str(_MAX_STRING), "-e", f"trace={_CALLS}", "-o", str(trace)]
    status = run_traced(workplace, options, mode="record")
    assert status == 0, f"the recorded operation ended with {status}"
    with trace.open(encoding="latin-1") as lines:
        return list(_calls(_whole_lines(lines)))


def _decoded(text: str) -> bytes:
    if text.startswith("\\x"):
        return bytes.fromhex(text.replace("\\x", ""))
    return text.encode("latin-1")


def _whole_lines(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield each call with the number of calls that had ended when it began."""
    waiting: dict[str, tuple[int, str]] = {}
    ended = 0
    for line in lines:
        process, _, call = line.rstrip("\n").partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            waiting[process] = ended, call.removesuffix("<unfinished ...>").rstrip()
            continue
        begun = ended
        if call.startswith("<... "):
            begun, first = waiting.pop(process)
            call = first + _RESUMED.sub("", call, count=1)
        yield begun, call
        ended += 1


def _calls(lines: Iterator[tuple[int, str]]) -> Iterator[Call]:
    """Yield the calls that change files; `write` gets the offset that it has without one."""
    offsets: dict[str, int] = {}
    for begun, line in lines:
        found = _LINE.match(line)
        if found is None or int(found[3]) < 0:
            yield Call("none", "", begun)
            continue
        name, arguments, result = found[1], found[2], int(found[3])
        descriptor = _DESCRIPTOR.match(arguments)
        path = _decoded(descriptor[1]).decode() if descriptor else ""
        strings = [_decoded(text) for text in _STRING.findall(arguments)]
        call = Call(name, path, begun)
        if name in ("write", "pwrite64", "writev"):
            data = b"".join(strings)[:result]
            if name == "pwrite64":  # leaves the offset of the file unchanged
                offset = int(arguments.rpartition(", ")[2])
            else:
                offset = offsets.get(path, 0)
                offsets[path] = offset + len(data)
            call = replace(call, data=data, offset=offset)
        elif name == "lseek":
            offsets[path] = result
        elif name == "ftruncate":
            call = replace(call, offset=int(arguments.rpartition(", ")[2]))
        elif strings:
            path = str(Path(path, strings[0].decode()))  # may be relative to a descriptor
            target = strings[1].decode() if len(strings) > 1 else ""
            call = replace(call, path=path, target=target, flags=arguments)
            if name == "openat" and ("O_TRUNC" in arguments or "O_CREAT" in arguments):
                offsets[path] = 0
        yield call


@dataclass(slots=True, eq=False)
class _File:
    """A file: its durable content, and the writes since its last flush."""

    durable: bytes = b""
    pending: list[tuple[int, int, bytes | None]] = field(default_factory=list)
    """Number of the call, and offset and data of a write, or length and None of a truncation."""

    def flush(self, begun: int) -> None:
        """Make the writes durable that had ended before a flush began."""
        covered = [write for write in self.pending if write[0] <= begun]
        self.durable = _written(self.durable, covered)
        self.pending = [write for write in self.pending if write[0] > begun]

    def left(self, survival: Survival, chooser: random.Random) -> bytes:
        """Return the content after a loss of power."""
        if survival == "nothing":
            return self.durable
        if survival == "all":
            return _written(self.durable, self.pending)
        kept: list[tuple[int, int, bytes | None]] = []
        for number, offset, data in self.pending:
            fate = chooser.choice(("kept", "kept", "dropped", "torn"))
            if fate == "torn" and data:
                sectors = chooser.randint(0, len(data) // _SECTOR_BYTES)
                kept.append((number, offset, data[: sectors * _SECTOR_BYTES]))
            elif fate != "dropped":
                kept.append((number, offset, data))
        return _written(self.durable, kept)


def _written(content: bytes, writes: list[tuple[int, int, bytes | None]]) -> bytes:
    new = bytearray(content)
    for _, offset, data in writes:
        if data is None:
            del new[offset:]
            new.extend(bytes(offset - len(new)))
        elif data:
            new.extend(bytes(max(0, offset - len(new))))
            new[offset : offset + len(data)] = data
    return bytes(new)


_Names = dict[str, _File | None]
"""Files by path; None for a folder."""


class Disk:
    """Files below a folder, as a program sees them and as a loss of power would leave them."""

    def __init__(self, folder: Path) -> None:
        """Read the files, all of which are durable."""
        self._root = str(folder)
        self._names: _Names = {}
        for path in sorted(folder.rglob("*")):
            self._names[str(path)] = None if path.is_dir() else _File(path.read_bytes())
        self._durable_names = dict(self._names)
        self._pending: list[tuple[int, str, str, _File | None]] = []
        self._calls = 0

    def apply(self, call: Call) -> None:
        """Apply a recorded call."""
        self._calls += 1
        if not call.path.startswith(self._root):
            return
        if call.name in ("write", "pwrite64"):
            self._write(call.path, call.offset, call.data)
        elif call.name == "ftruncate":
            self._write(call.path, call.offset, None)
        elif call.name in ("fsync", "fdatasync"):
            self._sync(call)
        elif call.name == "openat":
            self._open(call)
        elif call.name.startswith("rename"):
            self._change("rename", call.path, call.target)
        elif call.name.startswith("mkdir"):
            self._change("make", call.path, "")
        elif call.name.startswith("unlink") or call.name == "rmdir":
            self._change("delete", call.path, "")

    def _write(self, path: str, offset: int, data: bytes | None) -> None:
        file = self._names.get(path)
        if file is not None:  # an open file that was deleted has no path
            file.pending.append((self._calls, offset, data))

    def _open(self, call: Call) -> None:
        if "O_CREAT" in call.flags and call.path not in self._names:
            self._change("make", call.path, "", _File())
        elif "O_TRUNC" in call.flags:
            self._write(call.path, 0, None)

    def _change(self, kind: str, path: str, target: str, file: _File | None = None) -> None:
        self._pending.append((self._calls, kind, f"{path}\0{target}", file))
        _rename(self._names, kind, path, target, file)

    def _sync(self, call: Call) -> None:
        if call.path not in self._names and call.path != self._root:
            return
        file = self._names.get(call.path)
        if file is not None:
            file.flush(call.begun)
            return
        kept = []
        for change in self._pending:
            number, kind, paths, made = change
            path, _, target = paths.partition("\0")
            folders = {str(Path(name).parent) for name in (path, target) if name}
            if number <= call.begun and call.path in folders:
                _rename(self._durable_names, kind, path, target, made)
            else:
                kept.append(change)
        self._pending = kept

    def lose_power(self, target: Path, survival: Survival, chooser: random.Random) -> None:
        """Write the files that a loss of power leaves to a new folder."""
        names = dict(self._durable_names)
        count = {"nothing": 0, "all": len(self._pending)}.get(survival)
        if count is None:
            count = chooser.randint(0, len(self._pending))
        for _, kind, paths, file in self._pending[:count]:
            path, _, new = paths.partition("\0")
            _rename(names, kind, path, new, file)
        target.mkdir()
        for name in sorted(names):
            place = target / Path(name).relative_to(self._root)
            if not place.parent.is_dir():  # the folder itself was not durable
                continue
            file = names[name]
            if file is None:
                place.mkdir()
            elif not name.endswith("-shm"):
                place.write_bytes(file.left(survival, chooser))


def _rename(names: _Names, kind: str, path: str, target: str, file: _File | None) -> None:
    """Apply a change of names; of one whose file does not exist, nothing remains."""
    if kind == "make":
        names[path] = file
    elif kind == "delete":
        names.pop(path, None)
    elif path in names:
        for name in [n for n in names if n == path or n.startswith(f"{path}/")]:
            names[target + name[len(path) :]] = names.pop(name)


@dataclass(slots=True)
class PowerReport:
    """Counts of the simulated losses of power of one operation."""

    calls: int = 0
    """Number of recorded calls that change or flush files of the place."""
    flushes: int = 0
    losses: int = 0
    """Number of states of the disk that were checked."""


def lose_power(workplace: Workplace, *, losses: int | None = None, seed: int = 0) -> PowerReport:
    """Record an operation, and check the disk after a loss of power at many of its calls.

    Args:
        workplace: Workplace that was made.
        losses: Number of states to check, at random calls; None for those before and after each
            flush, with each kind of survival.
        seed: Seed of the choices.

    Raises:
        AssertionError: If a check fails.
    """
    calls = record(workplace)
    workplace.reset()
    root, log = str(workplace.place.folder), str(workplace.log)
    relevant = [n for n, call in enumerate(calls) if call.path.startswith((root, log))]
    flushes = [n for n in relevant if calls[n].name in ("fsync", "fdatasync")]
    chooser = random.Random(f"{seed} {workplace.operation.name}")
    kinds: tuple[Survival, ...] = ("nothing", "all", "some")
    moments = [(n + after, kind) for n in flushes for after in (0, 1) for kind in kinds]
    if losses is not None:
        moments = [(chooser.choice(relevant) + 1, chooser.choice(kinds)) for _ in range(losses)]
    moments.append((len(calls), "nothing"))
    disk, lines, position = Disk(workplace.place.folder), "", 0
    for moment, survival in sorted(moments):
        for call in calls[position:moment]:
            disk.apply(call)
            if call.path == log and call.name == "writev":
                lines += call.data.decode()
        position = moment
        _check_loss(workplace, disk, lines, survival, chooser)
    return PowerReport(calls=len(relevant), flushes=len(flushes), losses=len(moments))


def _check_loss(
    workplace: Workplace, disk: Disk, lines: str, survival: Survival, chooser: random.Random
) -> None:
    folder = workplace.folder / "checked"
    disk.lose_power(folder, survival, chooser)
    acknowledged = [line[5:] for line in lines.splitlines() if line.startswith("done ")]
    operation = workplace.operation
    has_ended = any(line.startswith("end") for line in lines.splitlines())
    if has_ended and operation.after != operation.before:
        acknowledged += [name for name in NAMES if name not in acknowledged]
    try:
        check_after_fault(operation, Place(folder, workplace.store.base(folder)), acknowledged)
    except BaseException as error:
        error.add_note(f"{survival} survives a loss of power after:\n{lines[-300:]}")
        raise
    shutil.rmtree(folder)
