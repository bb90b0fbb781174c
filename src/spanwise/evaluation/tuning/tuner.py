"""Tuning of search settings on questions with known evidence.

Rules:
    Cross-validation: each question is measured with settings fitted to other questions, where
    possible about other documents. The whole fit is repeated for each fold.
    An improvement is shown if recall is significantly higher at one budget, or in the mean of the
    budgets, after correction for multiple comparisons (Holm), and significantly lower at no budget.
    The settings are then fitted to all questions. Otherwise the defaults are returned.
    Without labelled questions, section titles serve as questions. They are easier than real
    questions and favour word matches, so only the weights of embedder and reranker are tuned.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.core.ranking.question import read_question
from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.metrics.ranges import intersection, length, union
from spanwise.evaluation.statistics import Comparison, Wording, among, compare, document_clusters
from spanwise.evaluation.tuning.examples import (
    Example,
    Folds,
    Ranges,
    collect_examples,
    evidence_ranges,
    fold_questions,
)
from spanwise.evaluation.tuning.fit import Fitted, Start, fit, fit_weights, gains
from spanwise.evaluation.tuning.learned_answers import Answers, examples_with_answers, read_answers
from spanwise.ingest.local_files import TemporarySpace
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import (
    add_parsed,
    searcher_of,
    settings_of,
    store_of,
    use_budget,
)
from spanwise.models.ledger import Ledger
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import ChunkOptions, RerankOptions, SearchOptions, SegmentOptions
from spanwise.search.pipeline import SearchRequest
from spanwise.search.rerank import Reranking
from spanwise.search.scoring import Scope
from spanwise.search.tuned_options import Figure, Measured, Tuning, tuning_text
from spanwise.stores.disk import replace_file
from spanwise.types import GivenContext, GivenParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import Reranker
    from spanwise.search.pipeline import Searcher
    from spanwise.types import DocumentRecord, Segment

LEAST_QUESTIONS = 10
"""Minimum number of questions; with fewer, an improvement cannot be shown."""
_MAX_CHUNK = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Options of a tuning."""

    budgets: tuple[int, ...] = (1_000, 4_000)
    """Budgets in tokens of text. Settings are chosen by the mean recall over these budgets."""
    tokenizer: str | None = None
    """Tokenizer for the budgets; None for the tokenizer of the knowledge base."""
    keyword_shares: tuple[float, ...] = (0.5, 0.85)
    """Weights of the keyword score to try, in [0, 1]; the cosine has the remaining weight."""
    chunk_targets: tuple[int, ...] = ()
    """Chunk lengths to try, in characters. For each, all documents are added to a copy."""
    known_answers: bool = True
    """Whether the tuning may store evidence terms by kind of question.

    They are learned only if there are enough documents to measure them on other documents.
    """
    folds: int = 5
    """Number of cross-validation folds, from 2 to 10."""

    def __post_init__(self) -> None:
        if not self.budgets or not all(1 <= budget <= 10_000_000 for budget in self.budgets):
            raise OptionError(f"budgets are {self.budgets!r}; give some from 1 to 10,000,000")
        if not all(0 <= one <= 1 for one in self.keyword_shares):
            raise OptionError(f"keyword_shares are {self.keyword_shares!r}; give some in [0, 1]")
        if not all(100 <= one <= _MAX_CHUNK for one in self.chunk_targets):
            raise OptionError(
                f"chunk sizes are {self.chunk_targets!r}; give some from 100 to {_MAX_CHUNK:,}"
            )
        if not 2 <= self.folds <= LEAST_QUESTIONS:
            raise OptionError(f"folds is {self.folds!r}; it must be from 2 to {LEAST_QUESTIONS}")


_MIN_TERMS = 3
_MIN_CHARS, _MAX_CHARS = 200, 6_000


def made_questions(base: KnowledgeBase, *, most: int = 200) -> tuple[LabelledQuestion, ...]:
    """Return questions made from section titles, with the section text as evidence.

    Titles of several sections and titles with fewer than three terms are left out. The title line
    is not part of the evidence.

    Args:
        base: Knowledge base with the documents.
        most: Maximum number of questions, at least 1, evenly spaced over all sections.
    """
    found = list(_titled(base))
    counts = Counter(item.text.casefold() for item in found)
    unique = [item for item in found if counts[item.text.casefold()] == 1]
    if len(unique) <= most:
        return tuple(unique)
    return tuple(unique[at * len(unique) // most] for at in range(most))


def _titled(base: KnowledgeBase) -> Iterator[LabelledQuestion]:
    """Yield a question for each section with a usable title."""
    for record in base.list():
        text = base.get(record.id).text
        for number, section in enumerate(base.sections(record.id)):
            start = section.start
            body = text[start : section.end]
            heading = body.find(section.title)
            if 0 <= heading <= len(section.title):  # the title is at the start of the section
                start += heading + len(section.title)
            if not _MIN_CHARS <= section.end - start <= _MAX_CHARS:
                continue
            if len(read_question(section.title, languages=[record.language]).terms) < _MIN_TERMS:
                continue
            yield LabelledQuestion(
                id=f"{record.id}:{number}",
                text=section.title,
                evidence=(Evidence(document_id=record.id, start=start, end=section.end),),
            )


OnStep = Callable[[str, int, int], None]
_LONGEST, _SHORTEST, _BLOCK = 1.15, 0.5, 2.0  # relative to the target, like the default options


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Material:
    """Knowledge base with the training examples of all questions."""

    base: KnowledgeBase
    chunks: ChunkOptions | None
    """Chunk options of a copy; None for the original knowledge base."""
    examples: Mapping[float, Sequence[Example]]
    """Training examples by keyword share."""

    def of(self, questions: Sequence[LabelledQuestion]) -> dict[float, list[Example]]:
        """Return the training examples of some questions, by keyword share."""
        ids = {question.id for question in questions}
        return {
            share: [item for item in found if item.question.id in ids]
            for share, found in self.examples.items()
        }


def collected(  # noqa: PLR0913 - options are keywords, each with a default
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    *,
    model: RelevanceModel,
    options: TuneOptions,
    reranking: Reranking | None = None,
    chunks: ChunkOptions | None = None,
    ledger: Ledger | None = None,
) -> Material:
    """Return a knowledge base with the training examples of questions.

    With a reranker, only the keyword share of the model is tried: each other share would need
    additional calls of the reranker.
    """
    others = () if reranking is not None else options.keyword_shares
    shares = dict.fromkeys((model.keyword_share, *others))
    examples = {
        share: collect_examples(
            base,
            questions,
            model=replace(model, keyword_share=share),
            tokenizer=options.tokenizer,
            reranking=reranking,
            ledger=ledger,
        )
        for share in shares
    }
    return Material(base=base, chunks=chunks, examples=examples)


def chunk_options(target: int) -> ChunkOptions:
    """Return the options for another chunk length; the limits are scaled with the target."""
    return ChunkOptions(
        target=target,
        max=round(target * _LONGEST),
        paragraph_min=max(1, round(target * _SHORTEST)),
        block_max=round(target * _BLOCK),
    )


def other_chunks(base: KnowledgeBase, targets: Sequence[int]) -> list[ChunkOptions]:
    """Return the options for chunk lengths, except the current options of the knowledge base."""
    own = base.info().settings["chunks"]
    tried = [chunk_options(target) for target in dict.fromkeys(targets)]
    return [one for one in tried if asdict(one) != json.loads(own)]


@contextmanager
def with_chunks(
    base: KnowledgeBase, chunks: ChunkOptions, *, on_step: OnStep, budget: Ledger | None = None
) -> Iterator[KnowledgeBase]:
    """Yield a temporary copy of a knowledge base with other chunks.

    If the process is killed, the next tuning or ingest of the same user removes the copy.

    Args:
        base: Original knowledge base.
        chunks: Chunk options of the copy.
        on_step: Function called with the name of the step, the number of finished documents, and
            the number of all documents.
        budget: Budget for calls of the embedder; None for no limit.

    Raises:
        DocumentError: If chunks cannot be embedded. Its cause is the error of the embedder.
        FetchError: If the temporary folder cannot be created.
    """
    with TemporarySpace() as space, space.folder() as folder:

        def report(done: int, total: int) -> None:
            on_step(f"chunks of {chunks.target}", done, total)

        path = folder / "work.kb"
        with copy_with_chunks(base, path, chunks, on_document=report, budget=budget) as work:
            yield work


def copy_with_chunks(
    base: KnowledgeBase,
    path: Path,
    chunks: ChunkOptions,
    *,
    on_document: Callable[[int, int], None] = lambda _done, _total: None,
    budget: Ledger | None = None,
) -> KnowledgeBase:
    """Return a copy of a knowledge base with other chunks.

    Documents are not parsed again: texts, titles, summaries, sections, chunk contexts and packs are
    copied. The new chunks are embedded with the same embedder.

    Args:
        base: Knowledge base to copy.
        path: Folder of the copy, which must not exist.
        chunks: Chunk options of the copy.
        on_document: Function called before each document with the number of copied documents and
            the number of all documents.
        budget: Budget for calls of the embedder; None for no limit.

    Raises:
        DocumentError: If chunks cannot be embedded. Its cause is the error of the embedder.
        CostLimitError: If a call could exceed the cost limit.
        StoreError: If the copy cannot be written.
    """
    settings = settings_of(base)
    copy = KnowledgeBase(
        path,
        embedder=searcher_of(base).embedder,
        tokenizer=settings.tokenizer,
        sections=settings.sections,
        chunks=chunks,
        packs=(),
    )
    if budget is not None:
        use_budget(copy, budget)
    try:
        copy.packs.adopt(base.packs)
        records = base.list()
        for done, record in enumerate(records):
            on_document(done, len(records))
            add_parsed(copy, base.get(record.id), given=_parts_of(base, record))
        copy.compact()
    except BaseException:
        copy.close()
        raise
    return copy


def _parts_of(base: KnowledgeBase, record: DocumentRecord) -> GivenParts:
    """Return the title, summary, sections and chunk contexts of a stored document."""
    return GivenParts(
        title=record.title,
        summary=record.summary,
        sections=base.sections(record.id),
        contexts=tuple(
            GivenContext(start=chunk.start, end=chunk.end, text=chunk.context)
            for chunk in base.chunks(record.id)
            if chunk.context
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Measurement of recall by searches at token budgets, without headers and abstention."""

    budgets: tuple[int, ...]
    """Budgets in tokens."""
    tokenizer: str | None
    """Tokenizer for the budgets; None for the tokenizer of the knowledge base."""
    reranking: Reranking | None

    def recalls(
        self,
        questions: Sequence[LabelledQuestion],
        *,
        base: KnowledgeBase,
        searcher: Searcher,
        may_refuse: bool = False,
    ) -> list[tuple[float, ...]]:
        """Return the recall (share of evidence characters) of each question at each budget.

        Args:
            questions: Questions with evidence in characters or pages.
            base: Knowledge base with the documents.
            searcher: Search pipeline to measure.
            may_refuse: Whether a search with a budget below every relevant chunk counts as a search
                without results; otherwise it is an error.

        Raises:
            OptionError: If a budget is smaller than every relevant chunk and `may_refuse` is false.
            ModelError: If the embedder or the reranker fails. There is no fallback, because it
                would measure other settings.
        """
        strict = replace(searcher, falls_back=False)
        return [
            self._recall(question, evidence_ranges(question, base), strict, may_refuse=may_refuse)
            for question in questions
        ]

    def _recall(
        self,
        question: LabelledQuestion,
        evidence: Ranges,
        searcher: Searcher,
        *,
        may_refuse: bool,
    ) -> tuple[float, ...]:
        whole = sum(length(ranges) for ranges in evidence.values())
        reached = []
        for budget in self.budgets:
            try:
                segments = self._segments(question, budget, searcher)
            except OptionError:
                if not may_refuse:
                    raise
                segments = ()
            held = 0
            for document_id, ranges in evidence.items():
                found = [
                    (segment.start, segment.end)
                    for segment in segments
                    if segment.document_id == document_id
                ]
                held += length(intersection(union(found), ranges))
            reached.append(held / whole)
        return tuple(reached)

    def _segments(
        self, question: LabelledQuestion, budget: int, searcher: Searcher
    ) -> tuple[Segment, ...]:
        request = SearchRequest(
            question=question.text,
            scope=Scope(documents=question.scope),
            reranking=self.reranking and replace(self.reranking, falls_back=False),
        )
        options = SearchOptions(budget_tokens=budget, headers=False, tokenizer=self.tokenizer)
        return searcher.search(request, options=options).segments


_OPENING = b"# Settings of `spanwise tune`"


def check_replaceable(path: Path) -> None:
    """Check that a tuning file can be written: the path is unused or an earlier tuning file.

    Raises:
        OptionError: If the folder does not exist, or the path is a file that is unreadable or is
            not a tuning file.
    """
    if not path.parent.is_dir():
        raise OptionError(f"there is no folder {path.parent}; create it first")
    try:
        with path.open("rb") as stream:
            opening = stream.read(len(_OPENING))
    except FileNotFoundError:
        return
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror or error}") from error
    if opening != _OPENING:
        raise OptionError(f"{path} exists and is not a tuning file; name another file")


def write_tuning(tuning: Tuning, path: str | Path) -> None:
    """Write a tuning file. Equal tunings give equal bytes.

    An earlier file is replaced at once: a crash leaves the old tuning or the new one.

    Raises:
        OptionError: If the file cannot be written; an earlier file stays.
    """
    target = Path(path).resolve()
    try:
        replace_file(target, tuning_text(tuning).encode(), mode=0o666, like=target)
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror or error}") from error


def tuned_reranking(
    base: KnowledgeBase,
    reranker: Reranker,
    *,
    chunks: int | None = None,
    ledger: Ledger | None = None,
) -> Reranking:
    """Return the reranking for a tuning; the scores are cached in the knowledge base.

    Args:
        base: Knowledge base with the cache.
        reranker: Reranker whose weight is tuned.
        chunks: Maximum candidates per question that the reranker scores; None for the default of
            `RerankOptions`.
        ledger: Ledger for the calls, with the cost limit; None for no limit.

    Raises:
        OptionError: If there is a cost limit and the price of the reranker is unknown.
    """
    caller = RerankCaller(reranker=reranker, cache=store_of(base), ledger=ledger or Ledger())
    caller.check_price()
    return Reranking(caller=caller, options=RerankOptions(chunks=chunks))


if TYPE_CHECKING:
    Floats = NDArray[np.float64]


Recalls = list[tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """Result of a tuning."""

    tuning: Tuning
    """Fitted tuning; the defaults if no improvement is shown."""
    comparison: Comparison
    """Comparison of tuned and default recall on held-out questions.

    It is the comparison at the first budget with a shown improvement, or else of the mean over the
    budgets.
    """
    budgets: tuple[Comparison, ...]
    """Comparison at each budget."""
    left_out: int
    """Number of questions left out for lack of evidence in characters or pages."""
    by_document: bool
    """Whether each question was measured with settings fitted to other documents."""
    note: str = ""
    """Note about the limits of the confidence intervals; empty if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tuner:
    """Fit and measurement of settings."""

    materials: Sequence[Material]
    """Original knowledge base, followed by copies with other chunks."""
    start: Start
    measure: Measure
    answers: Answers | None
    """Terms of all questions and their evidence; None if no known answers are learned."""
    ledger: Ledger
    """Ledger of the run."""

    def fit(self, questions: Sequence[LabelledQuestion]) -> tuple[Material, Fitted]:
        """Return the knowledge base with the best chunk length, and the fitted settings."""
        first = self.materials[0]
        best = first, fit(first.of(questions), self.start)
        for other in self.materials[1:]:
            tried = fit(other.of(questions), self.start)
            if gains(tried.worths, best[1].worths):
                best = other, tried
        if self.answers is None:
            return best
        return best[0], self._with_answers(*best, questions, answers=self.answers)

    def _with_answers(
        self,
        material: Material,
        fitted: Fitted,
        questions: Sequence[LabelledQuestion],
        *,
        answers: Answers,
    ) -> Fitted:
        """Return a fit with known answers if they improve it; otherwise the given fit."""
        known = answers.learn(questions)
        if not known.kinds:
            return fitted
        share = fitted.model.keyword_share
        start = replace(self.start, model=replace(self.start.model, keyword_share=share))
        examples = examples_with_answers(
            material.base,
            questions,
            answers=answers,
            model=start.model,
            tokenizer=self.measure.tokenizer,
            ledger=self.ledger,
        )
        tried = fit_weights(examples, start, segments=fitted.segments)
        if not gains(tried.worths, fitted.worths):
            return fitted
        return replace(tried, model=replace(tried.model, known_answers=known))

    def before(self, questions: Sequence[LabelledQuestion]) -> Recalls:
        """Return the recall of questions with the default settings."""
        base = self.materials[0].base
        searcher = searcher_of(base, self.start.model, ledger=self.ledger)
        return self.measure.recalls(questions, base=base, searcher=searcher)

    def after(
        self, questions: Sequence[LabelledQuestion], others: Sequence[LabelledQuestion]
    ) -> Recalls:
        """Return the recall of some questions with settings fitted to others."""
        material, fitted = self.fit(others)
        searcher = replace(
            searcher_of(material.base, fitted.model, ledger=self.ledger),
            balanced=fitted.segments,
        )
        return self.measure.recalls(
            questions, base=material.base, searcher=searcher, may_refuse=True
        )


def tune(  # noqa: PLR0913 - options are keywords, each with a default
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    *,
    options: TuneOptions | None = None,
    model: RelevanceModel | None = None,
    reranking: Reranking | None = None,
    source: Literal["labelled", "made"] = "labelled",
    on_step: Callable[[str, int, int], None] = lambda _step, _done, _total: None,
    ledger: Ledger | None = None,
) -> TuneReport:
    """Tune the search settings of a knowledge base on questions with known evidence.

    Args:
        base: Knowledge base to tune. Only its cache of model outputs is changed.
        questions: Questions with evidence in characters or pages; others are left out.
        options: Options of the tuning; None for the defaults.
        model: Initial relevance model; None for the shipped model.
        reranking: Reranker whose weight is tuned (`tuned_reranking`); None for no reranker.
        source: Origin of the questions. For "made" questions (section titles), only the table and
            the weights of embedder and reranker are fitted.
        on_step: Function called with the name of the step, the number of finished items, and the
            number of all items.
        ledger: Ledger for calls of the embedder, with the cost limit; None for no limit.

    Raises:
        OptionError: If fewer than ten questions have evidence, or two have the same id.
        DocumentNotFoundError: If a question names an unknown document.
        ModelError: If the embedder or the reranker fails.
    """
    wanted, ledger = options or TuneOptions(), ledger or Ledger()
    start = Start(
        model=model or searcher_of(base).model,
        reranker=None if reranking is None else reranking.caller.reranker.name,
        budgets=wanted.budgets,
        places_alone=source == "made",
    )
    usable = _usable(base, questions, source)
    folds = fold_questions(usable, folds=wanted.folds)
    # Known answers are not learned with a reranker (each fold would need more calls of it), from
    # made questions, or if folds share documents (a question would be searched with its answer).
    learns = (
        wanted.known_answers and source == "labelled" and reranking is None and folds.by_document
    )
    with ExitStack() as stack:
        on_step("reading candidates", 0, len(usable))
        first = collected(
            base, usable, model=start.model, options=wanted, reranking=reranking, ledger=ledger
        )
        _check_found(first)
        materials = [first]
        for chunks in other_chunks(base, wanted.chunk_targets):
            work = stack.enter_context(with_chunks(base, chunks, on_step=on_step, budget=ledger))
            materials.append(
                collected(
                    work,
                    usable,
                    model=start.model,
                    options=wanted,
                    reranking=reranking,
                    chunks=chunks,
                    ledger=ledger,
                )
            )
        tuner = _Tuner(
            materials=materials,
            start=start,
            measure=Measure(
                budgets=wanted.budgets, tokenizer=wanted.tokenizer, reranking=reranking
            ),
            answers=read_answers(base, usable) if learns else None,
            ledger=ledger,
        )
        return _report(tuner, usable, len(questions) - len(usable), folds, source, on_step)


def _usable(
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    source: Literal["labelled", "made"],
) -> list[LabelledQuestion]:
    """Return the questions with evidence in characters or pages; pages become characters."""
    for name, times in Counter(question.id for question in questions).items():
        if times > 1:  # results are stored by id
            raise OptionError(f"{times} questions have the id {name!r}; give each its own")
    located = [_located(question, base) for question in questions]
    usable = [question for question in located if question is not None]
    if len(usable) < LEAST_QUESTIONS and source == "made":
        raise OptionError(
            f"{len(usable)} questions can be made of section titles, and {LEAST_QUESTIONS} are "
            "needed; give a file of labelled questions"
        )
    if len(usable) < LEAST_QUESTIONS:
        raise OptionError(
            f"{len(usable)} questions have evidence in characters or pages; label at least "
            f"{LEAST_QUESTIONS}, better 50"
        )
    return usable


def _located(question: LabelledQuestion, base: KnowledgeBase) -> LabelledQuestion | None:
    """Return a question with its evidence converted to characters; None if there is none.

    Evidence that names only a document is kept, because questions are grouped by document.
    """
    places = [
        Evidence(document_id=document_id, start=start, end=end)
        for document_id, ranges in evidence_ranges(question, base).items()
        for start, end in ranges
        if end > start
    ]
    alone = [piece for piece in question.evidence if piece.start is None and piece.page is None]
    return replace(question, evidence=(*places, *alone)) if places else None


def _check_found(material: Material) -> None:
    """Check that enough questions have evidence among their candidates.

    Raises:
        OptionError: If there are fewer than ten.
    """
    found = min(len(example) for example in material.examples.values())
    if found < LEAST_QUESTIONS:
        raise OptionError(
            f"the evidence of {found} questions is among the chunks that are weighed; tuning "
            f"learns from those alone, and needs {LEAST_QUESTIONS}"
        )


def _report(
    tuner: _Tuner,
    usable: Sequence[LabelledQuestion],
    left_out: int,
    folds: Folds,
    source: Literal["labelled", "made"],
    on_step: Callable[[str, int, int], None],
) -> TuneReport:
    """Return the report: cross-validated recall, and the final fit if an improvement is shown."""
    on_step("measuring before", 0, len(folds.numbers) + 2)
    before = np.array(tuner.before(usable))
    after = np.zeros_like(before)
    for number in folds.numbers:
        on_step(f"part {number + 1}", number + 1, len(folds.numbers) + 2)
        inside, others = folds.split(usable, number)
        after[[fold == number for fold in folds.of]] = tuner.after(inside, others)
    clusters = document_clusters([question.evidence[0].document_id for question in usable])
    compared = _compared(before, after, budgets=tuner.measure.budgets, clusters=clusters.ids)
    budgets = compared[: len(tuner.measure.budgets)]
    gained = [
        comparison
        for comparison in compared
        if comparison.verdict == "first" and comparison.holds_among_all
    ]
    is_shown = bool(gained) and all(comparison.verdict != "second" for comparison in compared)
    on_step("fitting", len(folds.numbers) + 1, len(folds.numbers) + 2)
    return TuneReport(
        tuning=_tuning(
            tuner,
            usable if is_shown else [],
            Measured(
                questions=len(usable),
                source=source,
                is_shown=is_shown,
                figures=_figures(tuner.measure.budgets, before, after, budgets),
            ),
        ),
        comparison=gained[0] if is_shown else compared[-1],
        budgets=budgets,
        left_out=left_out,
        by_document=folds.by_document,
        note=clusters.note,
    )


def _compared(
    before: Floats, after: Floats, *, budgets: Sequence[int], clusters: Sequence[str]
) -> tuple[Comparison, ...]:
    """Return the comparison at each budget and, if there are several, that of their mean."""
    pairs = list(zip(after.T, before.T, strict=True))
    notes = [f"at {budget:,} tokens" for budget in budgets]
    if len(budgets) > 1:
        pairs.append((after.mean(axis=1), before.mean(axis=1)))
        notes.append("on the mean of the budgets")
    return among(
        [
            compare(
                first.tolist(),
                second.tolist(),
                clusters=clusters,
                wording=Wording(first="tuned", second="untuned", note=note),
            )
            for (first, second), note in zip(pairs, notes, strict=True)
        ]
    )


def _figures(
    budgets: Sequence[int],
    before: Floats,
    after: Floats,
    comparisons: Sequence[Comparison],
) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            budget_tokens=budget,
            before=float(one.mean()),
            after=float(other.mean()),
            difference=compared.difference.mean,
            low=compared.difference.low,
            high=compared.difference.high,
        )
        for budget, one, other, compared in zip(
            budgets, before.T, after.T, comparisons, strict=True
        )
    )


def _tuning(tuner: _Tuner, questions: Sequence[LabelledQuestion], measured: Measured) -> Tuning:
    """Return the tuning fitted to questions; without questions, the defaults."""
    base = tuner.materials[0].base
    embedder = base.info().settings["embedder"]
    if not questions:
        return Tuning(
            model=tuner.start.model,
            segments=SegmentOptions.BALANCED,
            embedder=embedder,
            measured=measured,
        )
    material, fitted = tuner.fit(questions)
    trained_with = "" if embedder == "none" else embedder
    return Tuning(
        model=replace(fitted.model, embedder=trained_with),
        segments=fitted.segments,
        embedder=embedder,
        measured=measured,
        chunks=material.chunks,
    )
