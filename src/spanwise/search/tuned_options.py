"""Tuning file: its contents, and functions that write, read and validate it.

The file is readable TOML, and the same tuning gives the same bytes. An unknown key, a number out of
range, or features of another version are errors: a search must never silently ignore a part of the
file.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.known_answers import MOST_KINDS, MOST_WORDS, KnownAnswers, QuestionKind
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.errors import OptionError
from spanwise.options import ChunkOptions, SegmentOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray


_FORMAT = 2
_MAX_BYTES = 1_000_000
_DIGITS = 6
_GREATEST = 1e6
_MAX_COUNT = 10**9
_MAX_WEIGHT = 100.0  # limit of `RerankOptions.weight`
_TABLES = ("format", "embedder", "segments", "relevance", "known_answers", "measured", "chunks")
_SEGMENTS = ("token_price", "segment_charge", "min_segment_value")
_CHUNKS = ("target", "max", "paragraph_min", "block_max")
_MODEL = ("features", "means", "deviations", "weights", "table", "keyword_share", "rerankers")
_KIND = ("terms", "questions", "documents", "words")
_FIGURE = ("budget_tokens", "before", "after", "difference", "low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Mean recall of evidence characters at one budget, in [0, 1]."""

    budget_tokens: int
    """Token budget of the searches."""
    before: float
    """Recall with the default settings."""
    after: float
    """Recall with the tuned settings."""
    difference: float
    """Recall with the tuned settings less recall with the default settings."""
    low: float
    """Lower end of the 95 % confidence interval of the difference."""
    high: float
    """Upper end of the 95 % confidence interval of the difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Evaluation of a tuning on questions that were not used for tuning."""

    questions: int
    """Number of questions."""
    source: str
    """Source of the questions: "labelled", or "made" from the documents."""
    is_shown: bool
    """Whether the evaluation shows an improvement; if not, the settings are the defaults."""
    figures: tuple[Figure, ...]
    """Recall at each budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings tuned on questions about some documents."""

    model: RelevanceModel
    """Relevance model."""
    segments: SegmentOptions
    """Options of the preset "balanced"."""
    embedder: str
    """Name of the knowledge base's embedder; "none" for keyword search."""
    measured: Measured
    """Evaluation of the tuning."""
    chunks: ChunkOptions | None = None
    """Chunk options that the knowledge base must be built with; None for any."""

    @property
    def words(self) -> str:
        """Description of the tuning for display."""
        questions = f"{self.measured.questions} questions"
        if self.measured.source == "made":
            questions += " made out of the documents"
        if not self.measured.is_shown:
            return f"defaults; {questions} showed no improvement"
        parts = [
            f"{figure.before * 100:.1f} -> {figure.after * 100:.1f} "
            f"at {figure.budget_tokens:,} tokens"
            for figure in self.measured.figures
        ]
        with_reranker = "".join(f", reranked by {name}" for name in sorted(self.model.rerankers))
        return f"recall {', '.join(parts)} on {questions}{self._known}{with_reranker}"

    @property
    def _known(self) -> str:
        """Description of the known answers for display; empty if there are none."""
        kinds = len(self.model.known_answers.kinds)
        plural = "" if kinds == 1 else "s"
        return f", knows the answers to {kinds} kind{plural} of questions" if kinds else ""


def tuning_text(tuning: Tuning) -> str:
    """Return the text of a tuning file."""
    return "\n".join(_lines(tuning)) + "\n"


def _lines(tuning: Tuning) -> Iterator[str]:
    model, measured = tuning.model, tuning.measured
    yield "# Settings of `spanwise tune`; use them by --tuning FILE or KnowledgeBase(tuning=FILE)."
    yield f"format = {_FORMAT}"
    yield f"embedder = {_text(tuning.embedder)}"
    yield ""
    yield "[segments]"
    yield '# In place of the preset "balanced".'
    values = {name: getattr(tuning.segments, name) for name in _SEGMENTS}
    yield from (f"{name} = {_number(one)}" for name, one in values.items() if one is not None)
    if tuning.chunks is not None:
        yield ""
        yield "[chunks]"
        yield "# The knowledge base has to be made with these."
        for name in _CHUNKS:
            yield f"{name} = {getattr(tuning.chunks, name)}"
    yield ""
    yield "[relevance]"
    yield f"trained_with = {_text(model.embedder)}"
    yield f"keyword_share = {_number(model.keyword_share)}"
    yield f"features = [{', '.join(_text(name) for name in model.features)}]"
    for name in ("means", "deviations", "weights"):
        yield f"{name} = [{', '.join(_number(value) for value in getattr(model, name).tolist())}]"
    yield "# Shares, and the chance that a chunk with that share holds evidence."
    yield "table = ["
    for share, relevance in model.table.T.tolist():
        yield f"  [{_number(share)}, {_number(relevance)}],"
    yield "]"
    if model.rerankers:
        yield ""
        yield "[relevance.rerankers]"
        for name, weight in sorted(model.rerankers.items()):
            yield f"{_text(name)} = {_number(weight)}"
    yield from _kind_lines(model.known_answers.kinds)
    yield ""
    yield "[measured]"
    yield "# Recall of evidence characters on questions that were not tuned on."
    yield f"questions = {measured.questions}"
    yield f"source = {_text(measured.source)}"
    yield f"is_shown = {str(measured.is_shown).lower()}"
    for value in measured.figures:
        yield ""
        yield "[[measured.figures]]"
        yield f"budget_tokens = {value.budget_tokens}"
        for name in _FIGURE[1:]:
            yield f"{name} = {_number(getattr(value, name))}"


def _kind_lines(kinds: Sequence[QuestionKind]) -> Iterator[str]:
    if kinds:
        yield ""
        yield "# Kinds of questions by their terms, and words of the documents that answered them:"
        yield "# the share of their evidence that stands in pieces with the word."
    for kind in kinds:
        yield ""
        yield "[[known_answers]]"
        yield f"terms = [{', '.join(_text(term) for term in kind.terms)}]"
        yield f"questions = {kind.questions}"
        yield f"documents = {kind.documents}"
        words = (f"{_text(word)} = {_number(share)}" for word, share in kind.answers.items())
        yield f"words = {{ {', '.join(words)} }}"


def _number(value: float) -> str:
    """Return a number as a TOML float."""
    text = repr(round(float(value), _DIGITS) + 0.0)
    return text if any(mark in text for mark in ".en") else f"{text}.0"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_tuning(path: str | Path) -> Tuning:
    """Return the tuning in a file.

    Raises:
        OptionError: If it cannot be read, has another version, or has an invalid key or value; the
            message names the key.
    """
    place = Path(path)
    try:
        with place.open("rb") as stream:
            raw = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise OptionError(f"{place} cannot be read: {error.strerror or error}") from error
    if len(raw) > _MAX_BYTES:
        raise OptionError(f"{place} is larger than {_MAX_BYTES:,} bytes: it is no tuning file")
    try:
        data = tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{place} is no TOML: {error}; write it with `spanwise tune`") from error
    return _TuningReader(str(place)).tuning(data)


@dataclass(frozen=True, slots=True)
class _TuningReader:
    """Validates one tuning file."""

    place: str

    def tuning(self, data: Mapping[str, object]) -> Tuning:
        version = data.get("format")
        if version != _FORMAT or isinstance(version, bool):
            raise self.error("format", f"is {version!r}; this version reads {_FORMAT}; tune again")
        self.keys("", data, _TABLES)
        model = self.model(self.table("relevance", data.get("relevance")))
        known = KnownAnswers(kinds=self.kinds(data.get("known_answers", [])))
        return Tuning(
            model=replace(model, known_answers=known),
            segments=self.segments(self.table("segments", data.get("segments"))),
            embedder=self.text("embedder", data.get("embedder")),
            measured=self.measured(self.table("measured", data.get("measured"))),
            chunks=self.chunks(data["chunks"]) if "chunks" in data else None,
        )

    def segments(self, data: Mapping[str, object]) -> SegmentOptions:
        self.keys("segments", data, _SEGMENTS)
        values: dict[str, Any] = {
            name: self.number(f"segments.{name}", data.get(name))
            for name in _SEGMENTS
            if name in data or name != "segment_charge"  # without it, the charge varies
        }
        try:
            return SegmentOptions(**values)
        except OptionError as error:
            raise self.error("segments", f"is not usable: {error}") from error

    def chunks(self, data: object) -> ChunkOptions:
        table = self.table("chunks", data)
        self.keys("chunks", table, _CHUNKS)
        values: dict[str, Any] = {
            name: self.whole(f"chunks.{name}", table.get(name)) for name in _CHUNKS
        }
        try:
            return ChunkOptions(**values)
        except OptionError as error:
            raise self.error("chunks", f"is not usable: {error}") from error

    def model(self, data: Mapping[str, object]) -> RelevanceModel:
        self.keys("relevance", data, ("trained_with", *_MODEL))
        names = data.get("features")
        if names != list(FEATURES):
            raise self.error(
                "relevance.features",
                f"are {names!r}, and this version uses {list(FEATURES)!r}; tune again",
            )
        deviations = self.numbers("relevance.deviations", data.get("deviations"))
        if not (deviations > 0).all():
            raise self.error("relevance.deviations", "must be above 0")
        share = self.number("relevance.keyword_share", data.get("keyword_share"))
        if not 0 <= share <= 1:
            raise self.error("relevance.keyword_share", f"is {share!r}; it must be in [0, 1]")
        return RelevanceModel(
            features=tuple(FEATURES),
            means=self.numbers("relevance.means", data.get("means")),
            deviations=deviations,
            weights=self.numbers("relevance.weights", data.get("weights")),
            table=self.shares(data.get("table")),
            embedder=self.text("relevance.trained_with", data.get("trained_with")),
            rerankers=self.rerankers(data.get("rerankers", {})),
            keyword_share=share,
        )

    def rerankers(self, data: object) -> dict[str, float]:
        table = self.table("relevance.rerankers", data)
        weights: dict[str, float] = {}
        for name, value in table.items():
            key = f"relevance.rerankers.{name}"
            weights[name] = self.number(key, value)
            if not 0 <= weights[name] <= _MAX_WEIGHT:
                raise self.error(key, f"is {value!r}; it must be from 0 to {_MAX_WEIGHT:g}")
        return weights

    def shares(self, rows: object) -> NDArray[np.float64]:
        """Return the calibration table of shares and relevances, (2, k)."""
        key = "relevance.table"
        if not isinstance(rows, list) or len(rows) < 2:
            raise self.error(key, "must be a list of at least two pairs")
        if not all(isinstance(row, list) and len(row) == 2 for row in rows):
            raise self.error(key, "must be a list of pairs")
        table = np.array([[self.number(key, number) for number in row] for row in rows]).T
        if table[0, 0] != 0 or table[0, -1] != 1 or not (np.diff(table[0]) > 0).all():
            raise self.error(key, "must have shares that ascend from 0 to 1")
        if table[1, 0] != 0 or table[1, -1] > 1 or not (np.diff(table[1]) >= 0).all():
            raise self.error(key, "must have chances that ascend from 0 to at most 1")
        return table

    def kinds(self, rows: object) -> tuple[QuestionKind, ...]:
        if not isinstance(rows, list) or len(rows) > MOST_KINDS:
            raise self.error("known_answers", f"must be at most {MOST_KINDS} tables [[...]]")
        return tuple(self.kind(f"known_answers[{at}]", row) for at, row in enumerate(rows))

    def kind(self, place: str, row: object) -> QuestionKind:
        data = self.table(place, row)
        self.keys(place, data, _KIND)
        terms, key = data.get("terms"), f"{place}.words"
        if not isinstance(terms, list) or not terms or len(set(map(repr, terms))) < len(terms):
            raise self.error(
                f"{place}.terms", f"is {terms!r}; it must be a list of texts, each once"
            )
        words = self.table(key, data.get("words"))
        if not 1 <= len(words) <= MOST_WORDS:
            raise self.error(key, f"are {len(words)}; there must be 1 to {MOST_WORDS}")
        shares = {word: self.number(f"{key}.{word}", words[word]) for word in sorted(words)}
        for word, share in shares.items():
            if not 0 < share <= 1:
                raise self.error(f"{key}.{word}", f"is {share!r}; it must be above 0, at most 1")
        return QuestionKind(
            terms=tuple(self.text(f"{place}.terms", term) for term in terms),
            questions=self.whole(f"{place}.questions", data.get("questions")),
            documents=self.whole(f"{place}.documents", data.get("documents")),
            answers=shares,
        )

    def measured(self, data: Mapping[str, object]) -> Measured:
        self.keys("measured", data, ("questions", "source", "is_shown", "figures"))
        source = self.text("measured.source", data.get("source"))
        if source not in ("labelled", "made"):
            raise self.error("measured.source", f'is {source!r}; it is "labelled" or "made"')
        shown, rows = data.get("is_shown"), data.get("figures", [])
        if not isinstance(shown, bool):
            raise self.error("measured.is_shown", f"is {shown!r}; it is true or false")
        if not isinstance(rows, list):
            raise self.error("measured.figures", "must be tables")
        return Measured(
            questions=self.whole("measured.questions", data.get("questions")),
            source=source,
            is_shown=shown,
            figures=tuple(self.figure(self.table("measured.figures", row)) for row in rows),
        )

    def figure(self, data: Mapping[str, object]) -> Figure:
        self.keys("measured.figures", data, _FIGURE)
        values = {
            name: self.number(f"measured.figures.{name}", data.get(name)) for name in _FIGURE[1:]
        }
        budget = self.whole("measured.figures.budget_tokens", data.get("budget_tokens"))
        return Figure(budget_tokens=budget, **values)

    def table(self, key: str, value: object) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self.error(key, "is missing; write the file with `spanwise tune`")
        return value

    def keys(self, table: str, data: Mapping[str, object], known: Sequence[str]) -> None:
        for name in data:
            if name not in known:
                whole = f"{table}.{name}" if table else name
                raise self.error(whole, f"is unknown; the keys are {', '.join(known)}")

    def text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(key, f"is {value!r}; it must be a text")
        return value

    def whole(self, key: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.error(key, f"is {value!r}; it must be a whole number of at least 1")
        if value > _MAX_COUNT:
            raise self.error(key, f"must be at most {_MAX_COUNT:,}")
        return value

    def number(self, key: str, value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.error(key, f"is {value!r}; it must be a number")
        if isinstance(value, float) and math.isnan(value):
            raise self.error(key, "is nan; it must be a number")
        if not -_GREATEST <= value <= _GREATEST:
            raise self.error(key, f"must be from {-_GREATEST:,.0f} to {_GREATEST:,.0f}")
        return float(value)

    def numbers(self, key: str, values: object) -> NDArray[np.float64]:
        """Return one number per feature."""
        if not isinstance(values, list) or len(values) != len(FEATURES):
            raise self.error(key, f"must be a list of {len(FEATURES)} numbers")
        return np.array([self.number(key, number) for number in values])

    def error(self, key: str, words: str) -> OptionError:
        return OptionError(f"{self.place}: {key} {words}")
