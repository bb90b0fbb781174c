"""Tuned segment options replace the balanced preset, but never options of the caller."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Measured, Tuning, tuning_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TUNED = SegmentOptions(token_price=0.5, segment_charge=0.125)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    tuning = Tuning(
        model=replace(shipped_model(), embedder=""),
        segments=_TUNED,
        embedder="none",
        measured=Measured(questions=20, source="labelled", is_shown=False, figures=()),
    )
    path = tmp_path / "tuning.toml"
    path.write_text(tuning_text(tuning), "utf-8")
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, tuning=path) as opened:
        opened.add_text("The lease of the ship ends in May.", document_id="a")
        yield opened


@pytest.mark.parametrize("preset", [None, "balanced"])
def test_the_balanced_preset_is_the_tuned_one(base: KnowledgeBase, preset: str | None) -> None:
    terms = base.explain("When does the lease end?", preset=preset).terms
    assert terms.segment_charge == _TUNED.segment_charge


def test_explicit_options_count_even_if_they_equal_the_preset(base: KnowledgeBase) -> None:
    terms = base.explain("When does the lease end?", segment_options=SegmentOptions()).terms
    assert terms.token_price == SegmentOptions().token_price


def test_other_presets_are_not_tuned(base: KnowledgeBase) -> None:
    terms = base.explain("When does the lease end?", preset="comprehensive").terms
    assert terms.token_price == SegmentOptions.COMPREHENSIVE.token_price
