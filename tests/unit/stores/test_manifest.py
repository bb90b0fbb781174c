"""The manifest: comes back as written; anything else counts as none."""

import json
from pathlib import Path

import pytest

from spanwise.stores import manifest
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest

MANIFEST = Manifest(seq=5, stamp="00FF", parts=("1-2-a.part", "3-9-b.part"))


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("version", ["terms_version", "word_vectors_version"])
def test_a_manifest_of_another_version_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Terms and word vectors of questions are compared with those of the index."""
    write_manifest(tmp_path, MANIFEST)
    monkeypatch.setattr(manifest, version, lambda: "other")
    assert read_manifest(tmp_path) == Manifest()


def test_a_missing_manifest_is_empty(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == Manifest()
    assert read_manifest(tmp_path / "nowhere") == Manifest()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "body": 3}'])
def test_a_malformed_manifest_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert read_manifest(tmp_path) == Manifest()


@pytest.mark.parametrize(("key", "value"), [("format", 1), ("crc", 1), ("body", {"seq": 6})])
def test_a_manifest_that_was_changed_is_empty(tmp_path: Path, key: str, value: object) -> None:
    write_manifest(tmp_path, MANIFEST)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert read_manifest(tmp_path) == Manifest()
