"""Generation of questions: select passages, prompt a model, check the questions.

Rules:
    Passages are spread over documents and sections, and ordered by a hash of the seed: equal seeds
    select equal passages.
    A rejected question is replaced by one about another passage. At most three passages are used
    for each requested question.
    Model outputs are cached in the knowledge base: a repeated run continues an interrupted one and
    returns the same questions.
    A question counts as unanswerable if the model wrote it as such, and then cannot answer it from
    a search of the documents. This is not a proof, because the search may miss an answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from spanwise.answers.estimate import estimate_answer
from spanwise.core.text.terms import content_words
from spanwise.errors import CostLimitError, ModelAnswerError, ModelError, ModelKeyError, OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.questions.question_checks import (
    CheckedQuestion,
    Reason,
    check_alone,
    check_question,
)
from spanwise.evaluation.questions.question_file import (
    PLACES_A_QUESTION,
    TRIED,
    MadeQuestions,
    MakingOptions,
)
from spanwise.evaluation.run_models import CallCounter, call_with_breaker, make_model
from spanwise.knowledge_base.internals import answerer_of, store_of
from spanwise.models.caller import ModelCaller
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.ledger import Ledger
from spanwise.models.prompts.questions import (
    QuestionPassage,
    question_request,
    read_question,
    read_unanswerable,
    unanswerable_request,
)
from spanwise.threads import map_bounded
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel, ModelRequest
    from spanwise.types import Chunk


_ENOUGH_TOKENS = 150
"""Minimum number of tokens after which a passage ends at a section boundary."""
_MAX_TOKENS = 500
_MIN_LETTERS = 120
"""Minimum number of letters in a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Passage of a document, about which a question is generated."""

    document_id: str
    title: str
    """Title of the document."""
    path: tuple[str, ...]
    """Section path at the beginning of the passage, outermost section first."""
    start: int
    """Index of the first character in the document."""
    text: str

    @property
    def passage(self) -> QuestionPassage:
        """Return the passage in the form used in prompts."""
        return QuestionPassage(title=self.title, section=" > ".join(self.path), text=self.text)


def pick_places(base: KnowledgeBase, *, seed: int) -> Iterator[Place]:
    """Return an iterator over the passages of all documents, alternating between documents.

    Args:
        base: Knowledge base with the documents. Documents are read on demand.
        seed: Seed of the order.

    Raises:
        OptionError: If the knowledge base has no document.
    """
    records = sorted(base.list(), key=lambda record: _hash(seed, record.id))
    if not records:
        raise OptionError("the knowledge base has no document; add documents first")
    return _in_turns([_places(base, one.id, title=one.title, seed=seed) for one in records])


def _in_turns(iterators: list[Iterator[Place]]) -> Iterator[Place]:
    """Yield one item of each iterator in turn (round robin)."""
    for places in zip_longest(*iterators):
        yield from (place for place in places if place is not None)


def _places(base: KnowledgeBase, document_id: str, *, title: str, seed: int) -> Iterator[Place]:
    """Yield the passages of a document, alternating between sections."""
    sections = base.sections(document_id)
    by_section: dict[tuple[str, ...], list[Place]] = {}
    for run in _runs(base.chunks(document_id)):
        text = "".join(chunk.text for chunk in run)
        if sum(map(str.isalpha, text)) >= _MIN_LETTERS:
            place = Place(
                document_id=document_id,
                title=title,
                path=sections[run[0].section].path,
                start=run[0].start,
                text=text,
            )
            by_section.setdefault(place.path, []).append(place)
    ordered = [
        (turn, _hash(seed, document_id, place.start), place)
        for places in by_section.values()
        for turn, place in enumerate(
            sorted(places, key=lambda one: _hash(seed, document_id, one.start))
        )
    ]
    for _, _, place in sorted(ordered, key=lambda one: one[:2]):
        yield place


def _runs(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return groups of adjacent chunks, each up to the maximum number of tokens."""
    runs: list[list[Chunk]] = []
    tokens = 0
    for chunk in chunks:
        begins = runs and chunk.section != runs[-1][-1].section
        is_full = tokens + chunk.tokens > _MAX_TOKENS or (begins and tokens >= _ENOUGH_TOKENS)
        if not runs or is_full:
            runs.append([])
            tokens = 0
        runs[-1].append(chunk)
        tokens += chunk.tokens
    return runs


def _hash(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()


_Read = TypeVar("_Read")


def make_questions(
    base: KnowledgeBase,
    *,
    llm: str | LanguageModel,
    options: MakingOptions | None = None,
    on_progress: Callable[[int, int, int], None] | None = None,
) -> MadeQuestions:
    """Generate questions with answers and evidence, each checked against the text.

    Args:
        base: Knowledge base with the documents.
        llm: "vendor:model", such as "openai:gpt-5-mini", or an object.
        options: Number and kind of the questions.
        on_progress: Function called with the number of accepted questions, of requested questions,
            and of model calls.

    Raises:
        OptionError: If the knowledge base has no document, or the model is unknown.
        ModelKeyError: If the API key of the model is missing or rejected.
        ModelError: If the model cannot be reached for all of the first passages, or for five in a
            row.
        CostLimitError: If a call could exceed the cost limit. Outputs so far are cached.
    """
    options = options or MakingOptions()
    run = _Run(base, llm=llm, options=options, on_progress=on_progress)
    run.fill(options.answerable, run.ask_answerable, run.answerable)
    run.fill(options.unanswerable, run.ask_unanswerable, run.unanswerable)
    return run.result()


class _Run:
    """State of one run."""

    def __init__(
        self,
        base: KnowledgeBase,
        *,
        llm: str | LanguageModel,
        options: MakingOptions,
        on_progress: Callable[[int, int, int], None] | None,
    ) -> None:
        self.base = base
        self.options = options
        self.ledger = Ledger(max_cost=options.models.max_cost)
        cache = store_of(base)
        self.model = make_model(llm, models=options.models, cache=cache, ledger=self.ledger)
        self.caller = ModelCaller(
            model=self.model,
            cache=cache,
            answer_retries=options.models.answer_retries,
            ledger=Ledger(listener=CallCounter(self._report), parent=self.ledger),
        )
        self.places = pick_places(base, seed=options.seed)
        self.answerable: list[CheckedQuestion] = []
        self.unanswerable: list[tuple[str, frozenset[str], Place]] = []
        self.rejected: Counter[Reason] = Counter()
        self.used_places = 0
        self.usage = Usage()
        self.first_error = ""
        self._on_progress = on_progress

    def fill(
        self, count: int, ask: Callable[[Sequence[Place]], None], questions: Sequence[object]
    ) -> None:
        """Generate questions until there are `count`, or no passages are left."""
        remaining = PLACES_A_QUESTION * count
        while len(questions) < count and remaining:
            places = list(islice(self.places, min(count - len(questions), remaining)))
            if not places:
                return
            remaining -= len(places)
            self.used_places += len(places)
            ask(places)

    def _report(self, calls: int) -> None:
        if self._on_progress is not None:
            requested = self.options.answerable + self.options.unanswerable
            self._on_progress(len(self.answerable) + len(self.unanswerable), requested, calls)

    def ask_answerable(self, places: Sequence[Place]) -> None:
        """Generate questions that the documents answer, one per passage."""
        for place, draft in self._outputs(places, question_request, read_question):
            if draft is None:
                self.rejected["nothing to ask"] += 1
                continue
            checked = check_question(draft, place, earlier=self.answerable)
            if isinstance(checked, CheckedQuestion):
                self.answerable.append(checked)
            else:
                self.rejected[checked] += 1

    def ask_unanswerable(self, places: Sequence[Place]) -> None:
        """Generate questions that the documents do not answer, and try to answer each of them."""
        tried: list[tuple[str, frozenset[str], Place]] = []
        for place, question in self._outputs(places, unanswerable_request, read_unanswerable):
            earlier = [item.terms for item in self.answerable]
            earlier += [terms for _, terms, _ in (*self.unanswerable, *tried)]
            terms = check_alone(question, place, earlier=earlier)
            if isinstance(terms, frozenset):
                tried.append((question, terms, place))
            else:
                self.rejected[terms] += 1
        outcomes = map_bounded(self._try_to_answer, tried, limit=self.model.concurrency)
        for candidate, (reason, usage) in zip(tried, outcomes, strict=True):
            self.usage += usage
            if reason is None:
                self.unanswerable.append(candidate)
            else:
                self.rejected[reason] += 1

    def _outputs(
        self,
        places: Sequence[Place],
        request: Callable[[QuestionPassage], ModelRequest],
        read: Callable[[str], _Read],
    ) -> Iterator[tuple[Place, _Read]]:
        """Yield the valid outputs of the model with their passages."""
        answers = call_with_breaker(
            self.caller,
            [request(place.passage) for place in places],
            read=lambda _, answer: read(answer),
        )
        self._check_reached(answers)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, ModelError):
                self.rejected["no usable answer"] += 1
                self.first_error = self.first_error or str(answer)
            else:
                yield place, answer

    def _check_reached(self, answers: Sequence[object]) -> None:
        """Raise the first error if the model could not be reached for any of the first calls."""
        errors = [answer for answer in answers if isinstance(answer, ModelError)]
        unreached = [error for error in errors if not isinstance(error, ModelAnswerError)]
        if len(unreached) == len(answers) == self.used_places:
            raise unreached[0]

    def _try_to_answer(
        self, candidate: tuple[str, frozenset[str], Place]
    ) -> tuple[Reason | None, Usage]:
        """Try to answer a question; called on several threads.

        Returns:
            The reason to reject the question, None if it could not be answered; and the usage.
        """
        ledger = Ledger(parent=self.ledger)
        answerer = answerer_of(
            self.base, budget=ledger, llm=self.model, write_queries=False, options=TRIED
        )
        try:
            answer = answerer.answer(candidate[0])
        except (CostLimitError, ModelKeyError):
            raise
        except ModelError as error:
            self.first_error = self.first_error or str(error)
            return "no usable answer", ledger.usage
        return None if answer.refused else "may be answered", answer.usage

    def result(self) -> MadeQuestions:
        """Return the questions and the counts."""
        answerable = [
            LabelledQuestion(
                id=f"made-{number:04d}",
                text=checked.question,
                answer=checked.answer,
                evidence=checked.evidence,
                metadata={"answerable": True, "made_by": self.model.name},
            )
            for number, checked in enumerate(self.answerable, 1)
        ]
        unanswerable = [
            LabelledQuestion(
                id=f"made-unanswerable-{number:04d}",
                text=question,
                metadata={
                    "answerable": False,
                    "made_by": self.model.name,
                    "from_document": place.document_id,
                },
            )
            for number, (question, _, place) in enumerate(self.unanswerable, 1)
        ]
        return MadeQuestions(
            questions=(*answerable, *unanswerable),
            wanted=self.options.answerable + self.options.unanswerable,
            places=self.used_places,
            refused=dict(sorted(self.rejected.items())),
            usage=self.caller.usage + self.usage,
            first_error=self.first_error,
        )


def estimate_questions(
    base: KnowledgeBase, *, llm: LanguageModel, options: MakingOptions
) -> dict[str, Usage]:
    """Return an upper bound of the usage of `make_questions`, by task.

    Questions are assumed to be rejected until `PLACES_A_QUESTION` passages per requested question
    were used. Cached outputs cost nothing.

    Args:
        base: Knowledge base with the documents.
        llm: Model that would be called.
        options: Number and kind of the questions.

    Raises:
        OptionError: If the knowledge base has no document.
    """
    cache, retries = store_of(base), options.models.answer_retries
    caller = dry_run_caller(llm, cache=cache, answer_retries=retries)
    most = [PLACES_A_QUESTION * count for count in (options.answerable, options.unanswerable)]
    places = list(islice(pick_places(base, seed=options.seed), sum(most)))
    for place in places[: most[0]]:
        caller.call(question_request(place.passage), read=_unread)
    tried = Usage()
    # Which passages are left for these questions is unknown: the longest ones need most.
    for place in sorted(places, key=lambda one: -len(one.text))[: most[1]]:
        caller.call(unanswerable_request(place.passage), read=_unread)
        answerer = answerer_of(base, llm=llm, write_queries=False, options=TRIED)
        words = " ".join(content_words(place.text)) or place.text
        estimate = estimate_answer(answerer, words, llm=llm, cache=cache, answer_retries=retries)
        tried += estimate.usage
    by_task = dict(caller.usage_by_task)
    if tried.calls or tried.cached_calls:
        by_task["answer"] = tried
    return by_task


def _unread(_: str) -> None:
    """Ignore the placeholder output of a dry run."""
