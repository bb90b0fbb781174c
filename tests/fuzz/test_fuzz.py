"""Every target on its valid, kept and a few changed inputs, without a fuzzer."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fuzz.mutation import change_bytes, change_member
from tests.fuzz.target import Target, kept_inputs, run_input
from tests.fuzz.targets import all_targets

from spanwise.errors import ParseError

TARGETS = all_targets()
CHANGED = 8
"""Number of changed inputs of each target."""
FEWER = {"http": 4, "manifest": 4}
"""Number for slow targets."""
MOST_SEEDS = 10
"""Approximate maximum number of valid inputs of each target."""
KEPT = [
    pytest.param(name, path, id=f"{name}/{path.stem}")
    for name in TARGETS
    for path in kept_inputs(name)
]
WORTHLESS = {"sitemap": 1}
"""Number of seeds that a target refuses."""


def changed_inputs(target: Target) -> Iterator[bytes]:
    """Yield valid inputs with changes, the same ones in every run."""
    chance = random.Random(zlib.crc32(target.name.encode()))
    seeds = target.seeds()

    def change(data: bytes, _: int) -> bytes:
        return change_bytes(data, chance, tokens=target.tokens)

    for _ in range(FEWER.get(target.name, CHANGED)):
        data = chance.choice(seeds)
        if target.is_zip:
            yield change_member(data, target.max_bytes, chance, change)
        else:
            yield change(data, target.max_bytes)


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read(name: str) -> None:
    """A target that refused its seeds would test only its first check."""
    target = TARGETS[name]
    refused = []
    seeds = target.seeds()
    assert max(map(len, seeds)) <= target.max_bytes
    for data in seeds[:: 1 + len(seeds) // MOST_SEEDS]:
        try:
            target.run(data)
        except target.allowed as error:
            refused.append(error)
    assert len(refused) == WORTHLESS.get(name, 0), refused


@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs_are_read_or_refused(name: str) -> None:
    for data in changed_inputs(TARGETS[name]):
        finding = run_input(TARGETS[name], data)
        assert finding is None, f"{data!r}\n{finding.report}"


@pytest.mark.parametrize(("name", "path"), KEPT)
def test_inputs_that_found_a_defect_find_it_no_more(name: str, path: Path) -> None:
    finding = run_input(TARGETS[name], path.read_bytes())
    assert finding is None, finding.report


def test_each_defect_is_a_finding() -> None:
    """An allowed error is none; other errors and slow inputs are."""

    def run(data: bytes) -> None:
        if data == b"a":
            raise ParseError("a", source="a", code="corrupt")
        if data == b"b":
            raise KeyError("b")
        sum(range(10_000_000))

    target = Target(name="t", run=run, seeds=list, cpu_seconds=0.02)
    assert run_input(target, b"a") is None
    found = [run_input(target, data) for data in (b"b", b"c")]
    assert [finding.kind for finding in found if finding] == ["KeyError", "slow"]


def test_a_changed_member_is_in_a_readable_archive() -> None:
    """A change of the packed bytes would be refused by its checksum."""
    target = TARGETS["docx"]
    (data,) = target.seeds()
    chance = random.Random(1)
    made = {change_member(data, 20_000, chance, lambda part, _: part + b" ") for _ in range(20)}
    read = [run_input(target, one) is None for one in made - {data}]
    assert len(read) > 1
    assert all(read)
