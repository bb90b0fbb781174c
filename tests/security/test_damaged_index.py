"""Blocks of an index that are overwritten: searches answer as before, and the part is rebuilt."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from spanwise.core.ranking.scan import PassageRange
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.manifest import read_manifest
from spanwise.stores.part import open_part
from spanwise.stores.several import SeveralStores
from spanwise.testing.store_entries import (
    DIMENSION,
    SETTINGS,
    fill,
    fingerprint,
    make_entry,
    question,
    question_vector,
)

WORDS = "revenue margin lease covenant auditors dividend goodwill growth impairment steady".split()
QUERIES = tuple(
    question(text, hits=40, vector=vector)
    for text, vector in (
        ("steady lease margin", True),
        ("dividend 7 covenant", False),
        ("who are the auditors of 31", True),
    )
)
BLOCK = 4_096
TRIALS = 20


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a closed knowledge base with two index parts of some thirty blocks."""
    path = tmp_path_factory.mktemp("sound") / "a.kb"
    rng = random.Random(0)
    entries = [
        make_entry(
            f"d/{number}",
            [f"{' '.join(rng.choices(WORDS, k=12))} {rng.randrange(4_000)}\n" for _ in range(30)],
        )
        for number in range(40)
    ]
    with closing(open_embedded(path)) as store:
        store.ensure_settings(SETTINGS)
        fill(store, entries[:32])
        assert store._index.flush()
        fill(store, entries[32:])
    assert len(read_manifest(path / "index").parts) == 2
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """Return a copy of it, to be damaged."""
    return Path(shutil.copytree(sound, tmp_path / "a.kb"))


def answers(store: EmbeddedStore) -> list[object]:
    """Return all that searches and the features of their passages say, to the last bit."""
    found: list[object] = [fingerprint(store, query) for query in QUERIES]
    vector = question_vector("steady lease")[None, :]
    with store.snapshot() as snapshot:
        scan = snapshot.scan(QUERIES[0])
        ranges = [PassageRange(int(handle), 3, 40) for handle in scan.handles]
        for vectors in (vector, np.empty((0, DIMENSION), dtype=np.float32)):
            passages = snapshot.passages(ranges, terms=QUERIES[1].terms, vectors=vectors)
            found += [
                array.tobytes()
                for array in (
                    passages.impacts,
                    passages.similarities,
                    passages.digits,
                    passages.chars,
                    passages.tokens,
                    passages.openings,
                )
            ]
    return found


@pytest.fixture(scope="module")
def expected(sound: Path) -> list[object]:
    with closing(open_embedded(sound)) as store:
        return answers(store)


def damage(rng: random.Random, parts: list[Path]) -> None:
    """Overwrite one random block of the parts."""
    blocks = [(part, start) for part in parts for start in range(0, part.stat().st_size, BLOCK)]
    part, start = rng.choice(blocks)
    with part.open("r+b") as file:
        file.seek(start)
        file.write(rng.randbytes(min(BLOCK, part.stat().st_size - start)))


def parts(path: Path) -> list[Path]:
    return sorted((path / "index").glob("*.part"))


def test_overwritten_blocks_change_no_answer(
    path: Path, sound: Path, expected: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    """Each trial begins with a sound index and ends with one that was rebuilt."""
    rng = random.Random(13)
    for _ in range(TRIALS):
        shutil.rmtree(path / "index")
        shutil.copytree(sound / "index", path / "index")
        damage(rng, parts(path))
        before = {part.name for part in parts(path)}
        caplog.clear()
        with caplog.at_level(logging.WARNING, "spanwise"), closing(open_embedded(path)) as store:
            assert answers(store) == expected
        read = {part.name for part in parts(path)} != before
        assert read == ("damaged" in caplog.text)
        if read:
            with closing(open_embedded(path)) as store:
                assert store.check().sound
                assert answers(store) == expected


def test_blocks_overwritten_while_a_store_is_open_change_no_answer(
    path: Path, sound: Path, expected: list[object]
) -> None:
    """The store has mapped the parts and read nothing but the small arrays of them."""
    rng = random.Random(14)
    for _ in range(TRIALS // 2):
        shutil.rmtree(path / "index")
        shutil.copytree(sound / "index", path / "index")
        with closing(open_embedded(path)) as store:
            damage(rng, parts(path))
            assert answers(store) == expected


def test_overwritten_blocks_change_no_answer_of_several_stores(
    path: Path, sound: Path, tmp_path: Path
) -> None:
    """The part is rebuilt in the middle of a search that adds up the scores of two stores."""
    rng = random.Random(16)
    other = Path(shutil.copytree(sound, tmp_path / "b.kb"))

    def answers_together() -> list[object]:
        with closing(open_embedded(path)) as first, closing(open_embedded(other)) as second:
            with SeveralStores({"a": first, "b": second}).snapshot() as snapshot:
                scans = [snapshot.scan(query) for query in QUERIES]
            return [
                (scan.handles.tolist(), scan.hit_chunks.tolist(), scan.hit_keywords.tobytes())
                for scan in scans
            ]

    expected = answers_together()
    for _ in range(TRIALS // 2):
        shutil.rmtree(path / "index")
        shutil.copytree(sound / "index", path / "index")
        damage(rng, parts(path))
        assert answers_together() == expected


def test_a_merge_never_copies_a_damaged_part(path: Path, expected: list[object]) -> None:
    """New checksums over damaged contents would make the damage permanent."""
    part = parts(path)[0]
    size = part.stat().st_size
    for start in range(BLOCK, size, 5 * BLOCK):
        data = bytearray(part.read_bytes())
        data[start : start + 64] = bytes(64)
        part.write_bytes(data)
    with closing(open_embedded(path)) as store:
        store.compact()
        assert answers(store) == expected
        assert store.check().sound


def test_a_flush_after_damage_keeps_the_answers(path: Path, expected: list[object]) -> None:
    """The documents that a flush merges with new ones come from `truth.db` where it has to be."""
    with closing(open_embedded(path)) as store:
        with store.snapshot():  # the parts are mapped
            pass
        for part in parts(path):
            with part.open("r+b") as file:
                file.seek(part.read_bytes().index(open_part(part).vectors.tobytes()))
                file.write(bytes(64))
        fill(store, [make_entry(f"new/{n}", ["lease\n"] * 60) for n in range(30)])
        assert store._index.flush()
        for n in range(30):
            assert store.delete_document(f"new/{n}")
        assert answers(store) == expected
        assert store.check().sound


@pytest.fixture
def cut(path: Path) -> Iterator[tuple[EmbeddedStore, Path]]:
    """Return an open store that has searched, and one of its parts."""
    with closing(open_embedded(path)) as store:
        answers(store)
        yield store, parts(path)[0]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_part_cut_short_after_it_was_opened_does_not_end_the_process(
    cut: tuple[EmbeddedStore, Path], share: float, expected: list[object]
) -> None:
    store, part = cut
    with part.open("r+b") as file:
        file.truncate(int(part.stat().st_size * share))
    assert answers(store) == expected
    assert store.check(repair=True).sound
    assert answers(store) == expected
