"""Members are taken out of archives under limits, whatever their names say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.archives import build_tar, encrypt_members
from tests.documents import build_docx, build_zip, paragraph
from tests.processes import request_header

from spanwise.errors import DocumentError, ParseError
from spanwise.parsers.process.protocol import decode_error, decode_unpacked
from spanwise.parsers.process.worker import answer

LIMITS: dict[str, Any] = {
    "max_file_bytes": 500_000_000,
    "max_members": 1_000,
    "members_option": "max_members=1000",
    "max_attachments": 1_000,
    "max_container_bytes": 1_000_000_000,
    "container_option": "max_container_bytes=1000000000",
    "media_type": None,
    "charset": None,
}


@dataclass(frozen=True)
class Found:
    """What was taken out."""

    texts: dict[str, bytes]
    lost: dict[str, str]
    remarks: tuple[str, ...]
    stopped: str


def unpack(data: bytes, name: str = "a.zip", **limits: int) -> Found:
    with tempfile.TemporaryDirectory() as place:
        path, into = Path(place, "container"), Path(place, "into")
        path.write_bytes(data)
        into.mkdir()
        header = request_header(name, kind="path", task="unpack", into=str(into))
        found, _ = answer(
            {**header, **LIMITS, **limits}, str(path).encode(), on_step=lambda step: None
        )
        if "error" in found:
            raise decode_error(found["error"], name)
        unpacked = decode_unpacked(found)
        assert unpacked.is_container
        texts = {one.name: (into / one.file_name).read_bytes() for one in unpacked.members}
        assert {one.name: one.bytes for one in unpacked.members} == {
            name: len(text) for name, text in texts.items()
        }
        return Found(
            texts=texts,
            lost={one.name: one.code for one in unpacked.lost},
            remarks=unpacked.remarks,
            stopped="" if unpacked.stopped is None else unpacked.stopped.code,
        )


FILES = {"one.txt": b"one", "b/two.md": b"# two"}


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (build_zip(FILES), "a.zip"),
        (build_tar(FILES), "a.tar"),
        (build_tar(FILES, mode="w:gz"), "a.tgz"),
        (build_tar(FILES, mode="w:bz2"), "a.tar.bz2"),
        (build_tar(FILES, mode="w:xz"), "a.tar.xz"),
    ],
)
def test_every_kind_of_archive_gives_its_members(data: bytes, name: str) -> None:
    """Whatever its name is."""
    assert unpack(data, name) == unpack(data, "x") == Found(FILES, {}, (), "")


@pytest.mark.parametrize(
    ("data", "name", "inner"),
    [
        (gzip.compress(b"text"), "folder/report.txt.gz", "report.txt"),
        (bz2.compress(b"text"), "https://a.org/b/notes.md.bz2", "notes.md"),
        (lzma.compress(b"text"), "a.zip!/x.csv.xz", "x.csv"),
        (gzip.compress(b"text"), "bare", "bare"),
    ],
    ids=["gz", "bz2", "xz", "bare"],  # the data holds the time: workers would name it otherwise
)
def test_a_compressed_file_is_one_member(data: bytes, name: str, inner: str) -> None:
    assert unpack(data, name).texts == {inner: b"text"}


def test_names_reach_nothing_outside() -> None:
    """They are ids, cut to what is inside; the bytes lie under numbers."""
    found = unpack(
        build_zip(
            {
                "../../etc/passwd": b"1",
                "/abs/x.txt": b"2",
                "a/../b.txt": b"3",
                "windows\\y.txt": b"4",
                "line\nend.txt": b"5",
                "..": b"6",
            }
        )
    )
    assert found.texts == {
        "etc/passwd": b"1",
        "abs/x.txt": b"2",
        "a/b.txt": b"3",
        "windows/y.txt": b"4",
        "line%0Aend.txt": b"5",
        "unnamed": b"6",
    }
    assert found.remarks == (
        "names of members pointed outside of the container and were shortened (4)",
    )


def test_a_very_long_name_is_cut() -> None:
    found = unpack(build_zip({"a" * 3_000 + "/b.txt": b"1"}))
    (name,) = found.texts
    assert (len(name), name[-6:]) == (500, "/b.txt")
    assert found.remarks == ("names of members were cut to their last 500 characters (1)",)


@pytest.mark.parametrize("data", [build_zip({}), build_tar({}, mode="w:gz")], ids=["zip", "tgz"])
def test_an_archive_of_nothing_says_so(data: bytes) -> None:
    assert unpack(data, "a.tar") == Found({}, {}, ("it has no members (1)",), "")


def test_links_are_left_out() -> None:
    """In tar files and in ZIP files that a Unix program made."""
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.txt", "text")
    for data in (packed.getvalue(), build_tar({"link": "/etc/passwd", "a.txt": b"text"})):
        found = unpack(data)
        assert found.texts == {"a.txt": b"text"}
        assert found.remarks == ("links, devices and other special files were left out (1)",)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_members_with_one_name_the_last_counts() -> None:
    """As for programs that unpack; it is said."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for text in ("old", "new"):
            archive.writestr("a.txt", text)
    found = unpack(packed.getvalue())
    assert (found.texts, len(found.remarks)) == ({"a.txt": b"new"}, 1)


@pytest.mark.parametrize(
    ("packed", "shown"),
    [
        ("größe.txt".encode(), "größe.txt"),
        ("größe.txt".encode("cp437"), "größe.txt"),
    ],
)
def test_names_without_a_mark_are_utf8_or_the_old_code_page(packed: bytes, shown: str) -> None:
    data = build_zip({"x" * len(packed): b"text"}).replace(b"x" * len(packed), packed)
    assert unpack(data).texts == {shown: b"text"}


def test_a_name_of_a_tar_file_that_is_no_text_is_escaped() -> None:
    assert unpack(build_tar({"caf\udce9.txt": b"text"})).texts == {"caf%E9.txt": b"text"}


def test_encrypted_members_are_named_and_lost() -> None:
    found = unpack(encrypt_members(build_zip(FILES)))
    assert (found.texts, found.lost) == ({}, dict.fromkeys(FILES, "encrypted"))


def test_a_damaged_member_costs_only_itself() -> None:
    data = build_zip({"a.txt": b"aaaaaaaa" * 9, "b.txt": b"bbbbbbbb" * 9})
    at = data.index(b"a.txt") + len("a.txt")
    found = unpack(data[: at + 2] + b"\xff\xff\xff" + data[at + 5 :])
    assert (found.texts, found.lost) == ({"b.txt": b"bbbbbbbb" * 9}, {"a.txt": "corrupt"})


def test_a_damaged_tar_file_is_not_its_own_member() -> None:
    data = bytearray(build_tar({"a.txt": b"first"}))
    data[3] ^= 1  # of the name, which the checksum covers
    with pytest.raises(ParseError, match=r"a\.tar: the archive is damaged: bad checksum"):
        unpack(bytes(data), "a.tar")


def test_an_archive_that_ends_early_gives_what_came_before() -> None:
    """And says that it was stopped there."""
    data = build_tar({"a.txt": b"first", "b.txt": b"x" * 100_000})
    found = unpack(data[:50_000], "a.tar")
    assert (found.texts, found.lost) == ({"a.txt": b"first"}, {"b.txt": "corrupt"})
    packed = build_tar({"a.txt": b"first", "b.txt": bytes(range(256)) * 4_000}, mode="w:gz")
    assert unpack(packed[: len(packed) // 2], "a.tgz").texts == {"a.txt": b"first"}


def test_a_bomb_is_refused_and_the_rest_is_taken() -> None:
    """By how much it unpacks to, counted while it is read."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.txt", bytes(60_000_000))
        archive.writestr("a.txt", "text")
    found = unpack(packed.getvalue())
    assert (found.texts, found.lost) == ({"a.txt": b"text"}, {"bomb.txt": "too_large"})
    assert unpack(gzip.compress(b"x" * 60_000_000), "b.gz").lost == {"b": "too_large"}


def test_limits_of_the_whole_end_the_reading() -> None:
    """What came before is there."""
    many = {f"{number}.txt": b"12345" for number in range(10)}
    for found in (
        unpack(build_zip(many), max_members=3),
        unpack(build_zip(many), max_container_bytes=15),
    ):
        assert (list(found.texts), found.stopped) == (["0.txt", "1.txt", "2.txt"], "too_large")
    assert unpack(build_zip({"a.txt": b"123"}), max_file_bytes=200).lost == {}
    assert unpack(build_zip({"a": bytes(300)}), max_file_bytes=500).lost == {}


def test_members_that_cannot_be_opened_count_too() -> None:
    locked = encrypt_members(build_zip({f"{number}.txt": b"12345" for number in range(10)}))
    found = unpack(locked, max_members=3)
    assert (len(found.lost), found.stopped) == (3, "too_large")


def test_folders_and_links_count_too() -> None:
    """They take time and memory, as members do."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for number in range(10):
            info = tarfile.TarInfo(str(number))
            info.type = tarfile.DIRTYPE if number % 2 else tarfile.SYMTYPE
            archive.addfile(info)
    folders = build_zip({f"{number}/": b"" for number in range(10)})
    for data in (tar.getvalue(), folders):
        assert unpack(data, max_members=9).stopped == "too_large"
        assert unpack(data, max_members=10).stopped == ""


def test_a_second_attempt_finds_what_the_first_has_left() -> None:
    """A process that died may have written some of it."""
    with tempfile.TemporaryDirectory() as place:
        path, into = Path(place, "a.zip"), Path(place, "into")
        path.write_bytes(build_zip({"b.txt": b"text"}))
        into.mkdir()
        Path(into, "1").write_bytes(b"something longer")
        header = request_header("a.zip", kind="path", task="unpack", into=str(into))
        found, _ = answer({**header, **LIMITS}, str(path).encode(), on_step=lambda step: None)
        (member,) = decode_unpacked(found).members
        assert Path(into, member.file_name).read_bytes() == b"text"


def test_a_member_over_the_limit_of_a_file_is_lost() -> None:
    data = gzip.compress(b"x" * 5_000)
    assert unpack(data, "b.gz", max_file_bytes=1_000).lost == {"b": "too_large"}


@pytest.mark.parametrize("data", [b"PK\x03\x04" + b"junk" * 20, b"\x1f\x8b\x08" + b"junk" * 20])
def test_what_cannot_be_opened_is_an_error(data: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        unpack(data, "a.gz")
    assert caught.value.code == "corrupt"


def test_a_compressed_file_that_ends_early_is_lost() -> None:
    found = unpack(gzip.compress(random.Random(1).randbytes(5_000))[:-20], "a.gz")
    assert (found.texts, found.lost) == ({}, {"a": "corrupt"})


def test_an_office_file_is_no_container() -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "a.docx")
        path.write_bytes(build_docx(paragraph("text")))
        header = request_header("a.docx", kind="path", task="unpack", into=place)
        found, _ = answer({**header, **LIMITS}, str(path).encode(), on_step=lambda step: None)
    assert not decode_unpacked(found).is_container
