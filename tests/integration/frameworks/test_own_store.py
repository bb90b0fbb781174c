"""The example for people who keep their own store."""

from __future__ import annotations

import pytest
from tests.examples import load_example


def test_the_hits_of_a_store_become_segments_without_gaps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = load_example("own_store")
    found = example.main()
    printed = capsys.readouterr().out
    assert "Three causes explain almost all of\nit.\n\nEnergy cost 3.2 million more" in printed
    assert sum(segment.tokens for segment in found) <= 400
    for segment in found:
        assert len(segment.chunks) == segment.last_chunk - segment.first_chunk
