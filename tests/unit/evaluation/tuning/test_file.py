"""The file of tuned settings: what is written is read, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spanwise import KnowledgeBase
from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.errors import EmbedderMismatchError, OptionError
from spanwise.evaluation.tuning.tuner import check_replaceable, write_tuning
from spanwise.options import ChunkOptions, SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Figure, Measured, Tuning, read_tuning, tuning_text


def tuning(**changes: object) -> Tuning:
    """Return a tuning for keywords alone."""
    figure = Figure(budget_tokens=1_000, before=0.5, after=0.6, difference=0.1, low=0.05, high=0.15)
    whole = Tuning(
        model=replace(shipped_model(), rerankers={"cohere:rerank-v3.5": 1.25}, keyword_share=0.5),
        segments=SegmentOptions(segment_charge=0.03),
        embedder="none",
        measured=Measured(questions=40, source="labelled", is_shown=True, figures=(figure,)),
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tuned.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    chunks = ChunkOptions(target=600, max=690, paragraph_min=300, block_max=1_200)
    path = tmp_path / "tuned.toml"
    given = tuning(chunks=chunks)
    write_tuning(given, path)
    read = read_tuning(path)
    for name in ("means", "deviations", "weights", "table"):
        assert np.array_equal(getattr(read.model, name), getattr(given.model, name))
    assert read.model.rerankers == {"cohere:rerank-v3.5": 1.25}
    assert read.model.keyword_share == 0.5
    assert read.model.embedder == given.model.embedder
    assert (read.segments, read.chunks, read.embedder) == (given.segments, chunks, "none")
    assert read.measured == given.measured
    assert tuning_text(read) == tuning_text(given)


def test_names_with_every_character_are_read_again(tmp_path: Path) -> None:
    name = 'a"b\\c\x7f\nd é \U0001f600'
    path = written(tmp_path, tuning_text(tuning(embedder=name)))
    assert read_tuning(path).embedder == name


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format = 2", "format = 1", "format is 1; this version reads 2; tune again"),
        ("format = 2", "format = 2\nbudget = 3", "budget is unknown"),
        ("segment_charge = 0.03", "segment_charge = 3.0", "segments is not usable"),
        ("segment_charge = 0.03", "segment_charge = nan", "segments.segment_charge is nan"),
        ("segment_charge = 0.03", "segment_charge = true", "segments.segment_charge is True"),
        ("token_price = 0.015\n", "", "segments.token_price is None"),
        ("keyword_share = 0.5", "keyword_share = 1.5", "keyword_share is 1.5"),
        ('"document", ', "", "tune again"),
        ("weights = [", "weights = [1.0, ", f"must be a list of {len(FEATURES)} numbers"),
        ("deviations = [", "deviations = [-1.0, ", f"must be a list of {len(FEATURES)}"),
        ("  [1.0, 0.", "  [1.0, 0.00", "chances that ascend"),
        ("  [0.0, 0.0],", "  [0.5, 0.0],", "shares that ascend"),
        ("  [0.0, 0.0],", "  [0.0],", "a list of pairs"),
        ('3.5" = 1.25', '3.5" = -1.0', "must be from 0 to 100"),
        ('source = "labelled"', 'source = "guessed"', "measured.source"),
        ("is_shown = true", 'is_shown = "yes"', "measured.is_shown"),
        ("questions = 40", "questions = 0", "measured.questions is 0"),
        ("[segments]", "[segment]", "segment is unknown"),
        ("before = 0.5", "before = 1" + "0" * 400, "measured.figures.before must be from"),
        ("low = 0.05", "low = -inf", "measured.figures.low must be from"),
        ("means = [", "means = [1e300, ", f"must be a list of {len(FEATURES)}"),
        ("[measured]", "[measured", "is no TOML"),
    ],
)
def test_what_is_wrong_is_refused_by_name(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = tuning_text(tuning())
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(OptionError, match="tuned") as caught:
        read_tuning(path)
    assert said in str(caught.value)


def test_weights_without_bounds_are_refused(tmp_path: Path) -> None:
    """Their scores would be no numbers."""
    model = replace(shipped_model(), weights=np.full(len(FEATURES), 1e307))
    path = written(tmp_path, tuning_text(tuning(model=model)))
    with pytest.raises(OptionError, match=r"relevance.weights must be from -1,000,000"):
        read_tuning(path)


def test_a_file_that_is_missing_or_huge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        read_tuning(tmp_path / "none.toml")
    with pytest.raises(OptionError, match="larger than"):
        read_tuning(written(tmp_path, "#" * 1_000_001))


def test_a_reranker_is_named_with_the_figures() -> None:
    assert tuning().words.endswith("on 40 questions, reranked by cohere:rerank-v3.5")


def test_only_a_tuning_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    check_replaceable(path)
    write_tuning(tuning(), path)
    check_replaceable(path)
    path.write_text("kb = 'mine'\n", encoding="utf-8")
    with pytest.raises(OptionError, match="is not a tuning file"):
        check_replaceable(path)
    with pytest.raises(OptionError, match="there is no folder"):
        check_replaceable(tmp_path / "missing" / "tuned.toml")


def test_the_words_say_what_is_shown() -> None:
    assert (
        tuning(model=shipped_model()).words == "recall 50.0 -> 60.0 at 1,000 tokens on 40 questions"
    )
    measured = Measured(questions=12, source="made", is_shown=False, figures=())
    said = tuning(measured=measured).words
    assert said == "defaults; 12 questions made out of the documents showed no improvement"


def test_it_has_to_fit_the_knowledge_base(tmp_path: Path) -> None:
    path = written(tmp_path, tuning_text(tuning(embedder="openai:text-embedding-3-small")))
    with pytest.raises(EmbedderMismatchError, match=r"text-embedding-3-small.*'none'"):
        KnowledgeBase(":memory:", embedder=None, tuning=path)
    chunks = ChunkOptions(target=600, max=690, paragraph_min=300, block_max=1_200)
    path = written(tmp_path, tuning_text(tuning(chunks=chunks)))
    with pytest.raises(OptionError, match=r"chunks of 600 chars.*chunks of 400 chars"):
        KnowledgeBase(":memory:", embedder=None, chunks=ChunkOptions(), tuning=path)
    with KnowledgeBase(":memory:", embedder=None, tuning=path) as base:
        assert base.info().settings["tuning"].startswith("recall 50.0 -> 60.0")


def test_defaults_in_a_file_change_no_search(tmp_path: Path) -> None:
    model: RelevanceModel = shipped_model()
    untuned = tuning(model=model, segments=SegmentOptions.BALANCED)
    path = written(tmp_path, tuning_text(untuned))
    text = "Margins fell in 2018 because of costs.\n\n" * 3 + "The weather was fine.\n\n" * 30
    results = []
    for given in (None, path):
        with KnowledgeBase(":memory:", embedder=None, tuning=given) as base:
            base.add_text(text, document_id="report.txt")
            found = base.search("Why did margins fall?", budget_tokens=200).to_dict()
            results.append({name: one for name, one in found.items() if name != "seconds"})
    assert results[0] == results[1]
