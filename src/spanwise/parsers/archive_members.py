"""Archives: members of ZIP and tar files, and the content of a single compressed file (gzip ...).

Rules
    1. The file is read as a stream, because an archive may be larger than memory.
    2. Links, devices and other special files are skipped: the target of a link is another member,
       or is outside of the archive.
    3. A name without the UTF-8 flag is read as UTF-8 if it is valid, because most programs omit
       the flag. Otherwise it is code page 437, as the format requires.
    4. A decompressed file that is not a tar file is one member, named like the archive without
       its last extension.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from io import BufferedIOBase
from pathlib import Path, PurePosixPath

from spanwise.parsers.containers import MemberFolder
from spanwise.parsers.office_zip import ZIP_DAMAGE

_PIECE_BYTES = 1 << 18
_UTF8_FLAG = 0x800
_ENCRYPTED_FLAG = 0x1
_DAMAGE = (*ZIP_DAMAGE, tarfile.TarError, MemoryError)  # MemoryError: a name may be gigabytes long
_OPENERS: Mapping[bytes, Callable[[Path], BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZ": bz2.BZ2File,
    b"\xfd7": lzma.LZMAFile,
}
"""Function that opens a compressed file, by its first two bytes."""
_INNER_NAMES = {".tgz": ".tar", ".tbz": ".tar", ".tbz2": ".tar", ".txz": ".tar"}
_LINKS = "links, devices and other special files were left out"


def unpack_archive(folder: MemberFolder) -> None:
    """Extract the members of an archive.

    Raises:
        ParseError: "corrupt" if it cannot be read, or not to its end.
    """
    start = folder.source.data[:2]
    if start == b"PK":
        _unpack_zip(folder)
        return
    opener = _OPENERS.get(start, _open_plain)
    try:
        with opener(folder.path) as stream:
            if opener is _open_plain or _is_tar(stream):  # also if it is damaged
                _unpack_tar(folder, stream)
            else:
                folder.take(_inner_name(folder.source.name), _pieces(folder, stream.read))
    except _DAMAGE as exc:
        cause = str(exc) or "it takes too much memory"
        raise folder.source.error("corrupt", f"the archive is damaged: {cause}") from exc


def _open_plain(path: Path) -> BufferedIOBase:
    return path.open("rb")


def _pieces(folder: MemberFolder, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the bytes of a member in pieces.

    Raises:
        ParseError: "corrupt" if they are damaged.
    """
    try:
        while piece := read(_PIECE_BYTES):
            yield piece
    except _DAMAGE as exc:
        raise folder.source.error("corrupt", f"it is damaged in the archive: {exc}") from exc


def _unpack_zip(folder: MemberFolder) -> None:
    try:
        archive = zipfile.ZipFile(folder.path)
    except _DAMAGE as exc:
        raise folder.source.error("corrupt", f"the archive is damaged: {exc}") from exc
    with archive:
        for info in archive.infolist():
            name = _zip_name(info)
            if info.filename.endswith("/"):  # `is_dir` raises for an empty name
                folder.leave_out()
            elif _is_link(info):
                folder.leave_out(_LINKS)
            elif info.flag_bits & _ENCRYPTED_FLAG:
                folder.lose(name, "encrypted", "it needs a password; unpack it and add the file")
            else:
                pieces = _zip_pieces(folder, archive, info)
                folder.take(name, pieces, packed_bytes=info.compress_size)


def _zip_pieces(
    folder: MemberFolder, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Iterator[bytes]:
    try:
        member = archive.open(info)
    except _DAMAGE as exc:
        raise folder.source.error("corrupt", f"it is damaged in the archive: {exc}") from exc
    with member:
        yield from _pieces(folder, member.read)


def _is_link(info: zipfile.ZipInfo) -> bool:
    """Return whether the Unix mode of a member marks it as a link, device or other special file."""
    mode = info.external_attr >> 16
    return stat.S_IFMT(mode) not in (0, stat.S_IFREG)


def _zip_name(info: zipfile.ZipInfo) -> str:
    name = info.filename
    if not info.flag_bits & _UTF8_FLAG:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    return name.replace("\\", "/")


def _is_tar(stream: BufferedIOBase) -> bool:
    """Return whether a stream begins with a tar header or end marker; the stream is rewound."""
    head = stream.read(tarfile.BLOCKSIZE)
    stream.seek(0)
    try:
        tarfile.TarInfo.frombuf(head, tarfile.ENCODING, "surrogateescape")
    except tarfile.TarError:
        return head == bytes(tarfile.BLOCKSIZE)
    return True


def _unpack_tar(folder: MemberFolder, stream: BufferedIOBase) -> None:
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as archive:
        for info in archive:
            member = archive.extractfile(info) if info.isfile() else None
            if member is not None:
                folder.take(info.name, _pieces(folder, member.read))
            else:
                folder.leave_out("" if info.isdir() else _LINKS)


def _inner_name(name: str) -> str:
    path = PurePosixPath(name.rpartition("!/")[2])
    return path.stem + _INNER_NAMES.get(path.suffix.lower(), "")
