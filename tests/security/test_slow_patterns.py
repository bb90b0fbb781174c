"""Patterns of file names that need exponential time with a simple regular expression."""

from __future__ import annotations

import time

import pytest

from spanwise.errors import OptionError
from spanwise.ingest.folder_walk import PathPatterns


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "b", "a" * 200 + ".pdf"),
        ("**/a/" * 100 + "b", "a/" * 500 + "c.pdf"),
        ("**/*a*a*c/" * 50 + "b", "aaaaaaaa/" * 500 + "c.pdf"),
    ],
)
def test_a_pattern_takes_little_time(pattern: str, path: str) -> None:
    """A match cannot be interrupted, so it would stop the jobs of the server for ever."""
    patterns = PathPatterns.of([pattern], [pattern])
    started = time.process_time()
    assert not patterns.include[0].matches(path, is_folder=False)
    assert not patterns.excludes(path, is_folder=False)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("patterns", [["[" * 100_000], ["*.pdf"] * 100_000])
def test_long_patterns_and_lists_are_refused(patterns: list[str]) -> None:
    with pytest.raises(OptionError, match=r"patterns|characters"):
        PathPatterns.of(patterns, [])
