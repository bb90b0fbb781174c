"""Generation of questions from documents: pick places, ask a model, check, replace what is refused.

Rules:
    A refused question is replaced by one about another place; at most three places are asked about
    for each wanted question.
    Outputs of the model are cached in the knowledge base: a repeated command continues where it
    stopped and gives the same questions.
    An unanswerable question is one that the model wrote as such and refuses to answer from the
    documents. This is not proof, because search may miss an answer: they are few, and marked.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from spanwise.answers.stream import AnswerStream
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
from spanwise.models.prompts.answers import Question, answer_task
from spanwise.models.prompts.questions import (
    QuestionPassage,
    question_request,
    read_question,
    read_unanswerable,
    unanswerable_request,
)
from spanwise.models.threads import map_bounded
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel, ModelRequest
    from spanwise.types import Chunk


_ENOUGH_TOKENS = 150
"""Number of tokens from which a place ends with its section."""
_MOST_TOKENS = 500
_LEAST_LETTERS = 120
"""Minimum number of letters of a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A part of a document."""

    document_id: str
    title: str
    """Title of the document."""
    path: tuple[str, ...]
    """Titles of the section in which it begins, outermost first."""
    start: int
    """First character in the text of the document."""
    text: str

    @property
    def asked(self) -> QuestionPassage:
        """Return the place as a prompt shows it."""
        return QuestionPassage(title=self.title, section=" > ".join(self.path), text=self.text)


def pick_places(base: KnowledgeBase, *, seed: int) -> Iterator[Place]:
    """Return the places of all documents in turn; documents are read when they are needed.

    Raises:
        OptionError: If there is no document.
    """
    records = sorted(base.list(), key=lambda record: _hash(seed, record.id))
    if not records:
        raise OptionError("the knowledge base holds no document; add some, then make questions")
    return _in_turns([_places(base, one.id, title=one.title, seed=seed) for one in records])


def _in_turns(left: list[Iterator[Place]]) -> Iterator[Place]:
    """Yield one item of each iterator in turn (round robin)."""
    while left:
        further: list[Iterator[Place]] = []
        for places in left:
            place = next(places, None)
            if place is not None:
                yield place
                further.append(places)
        left = further


def _places(base: KnowledgeBase, document_id: str, *, title: str, seed: int) -> Iterator[Place]:
    """Yield the places of a document, one of each section in turn."""
    sections = base.sections(document_id)
    by_section: dict[tuple[str, ...], list[Place]] = {}
    for run in _runs(base.chunks(document_id)):
        text = "".join(chunk.text for chunk in run)
        if sum(map(str.isalpha, text)) >= _LEAST_LETTERS:
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
    """Return runs of neighbouring chunks up to the maximum number of tokens."""
    runs: list[list[Chunk]] = []
    tokens = 0
    for chunk in chunks:
        begins = runs and chunk.section != runs[-1][-1].section
        is_full = tokens + chunk.tokens > _MOST_TOKENS or (begins and tokens >= _ENOUGH_TOKENS)
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
    """Return questions with answers and evidence, each checked against the text.

    Args:
        base: Knowledge base with the documents.
        llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
        options: Number and kind of the questions.
        on_progress: Called with the number of questions, of wanted questions, and of calls.

    Raises:
        OptionError: If there is no document, or no such model.
        ModelKeyError: If there is no key for the model, or it is refused.
        ModelError: If the provider cannot be reached for all of the first places, or for five in a
            row.
        CostLimitError: If a call may cost more than is left. Answers are cached.
    """
    options = options or MakingOptions()
    run = _Run(base, llm=llm, options=options, on_progress=on_progress)
    run.fill(options.n, run.answerable, made=lambda: len(run.found))
    run.fill(options.unanswerable, run.unanswerable, made=lambda: len(run.unanswered))
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
            ledger=Ledger(listener=CallCounter(self._hear), parent=self.ledger),
        )
        self.places = pick_places(base, seed=options.seed)
        self.found: list[CheckedQuestion] = []
        self.unanswered: list[tuple[str, frozenset[str], Place]] = []
        self.refused: Counter[Reason] = Counter()
        self.asked = 0
        self.usage = Usage()
        self.first_error = ""
        self._on_progress = on_progress

    def fill(
        self, wanted: int, ask: Callable[[Sequence[Place]], None], *, made: Callable[[], int]
    ) -> None:
        """Ask about places until there are as many questions as wanted, or no places are left."""
        left = PLACES_A_QUESTION * wanted
        while made() < wanted and left:
            places = list(islice(self.places, min(wanted - made(), left)))
            if not places:
                return
            left -= len(places)
            self.asked += len(places)
            ask(places)

    def _hear(self, calls: int) -> None:
        if self._on_progress is not None:
            wanted = self.options.n + self.options.unanswerable
            self._on_progress(len(self.found) + len(self.unanswered), wanted, calls)

    def answerable(self, places: Sequence[Place]) -> None:
        """Make questions that the documents answer."""
        for place, given in self._given(places, question_request, read_question):
            if given is None:
                self.refused["nothing to ask"] += 1
                continue
            checked = check_question(given, place, earlier=self.found)
            if isinstance(checked, CheckedQuestion):
                self.found.append(checked)
            else:
                self.refused[checked] += 1

    def unanswerable(self, places: Sequence[Place]) -> None:
        """Make questions that the documents do not answer, and try to answer each of them."""
        tried: list[tuple[str, frozenset[str], Place]] = []
        for place, question in self._given(places, unanswerable_request, read_unanswerable):
            earlier = [item.terms for item in self.found]
            earlier += [terms for _, terms, _ in (*self.unanswered, *tried)]
            terms = check_alone(question, place, earlier=earlier)
            if isinstance(terms, frozenset):
                tried.append((question, terms, place))
            else:
                self.refused[terms] += 1
        asked = map_bounded(self._has_no_answer, tried, limit=self.model.concurrency)
        for one, (outcome, usage) in zip(tried, asked, strict=True):
            self.usage += usage
            if outcome is None:
                self.unanswered.append(one)
            else:
                self.refused[outcome] += 1

    def _given(
        self,
        places: Sequence[Place],
        request: Callable[[QuestionPassage], ModelRequest],
        read: Callable[[str], _Read],
    ) -> Iterator[tuple[Place, _Read]]:
        """Yield the usable outputs of the model with their places."""
        answers = call_with_breaker(
            self.caller,
            [request(place.asked) for place in places],
            read=lambda _, answer: read(answer),
        )
        self._check_reached(answers)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, ModelError):
                self.refused["no usable answer"] += 1
                self.first_error = self.first_error or str(answer)
            else:
                yield place, answer

    def _check_reached(self, answers: Sequence[object]) -> None:
        """Raise if all first calls failed for another reason than their answers."""
        errors = [answer for answer in answers if isinstance(answer, ModelError)]
        unreached = [error for error in errors if not isinstance(error, ModelAnswerError)]
        if len(unreached) == len(answers) == self.asked:
            raise unreached[0]

    def _has_no_answer(self, one: tuple[str, frozenset[str], Place]) -> tuple[Reason | None, Usage]:
        """Return None for an unanswerable question, or why it is not used; and the usage.

        Called by several threads: it changes no counts.
        """
        ledger = Ledger(parent=self.ledger)
        answerer = answerer_of(
            self.base, budget=ledger, llm=self.model, write_queries=False, options=TRIED
        )
        try:
            answer = AnswerStream(answerer.run(one[0], streams=False)).answer
        except (CostLimitError, ModelKeyError):
            raise
        except ModelError as error:
            self.first_error = self.first_error or str(error)
            return "no usable answer", ledger.usage
        return None if answer.refused else "may be answered", answer.usage

    def result(self) -> MadeQuestions:
        """Return the questions and counts."""
        answerable = [
            LabelledQuestion(
                id=f"made-{number:04d}",
                text=checked.question,
                answer=checked.answer,
                evidence=checked.evidence,
                metadata={"answerable": True, "made_by": self.model.name},
            )
            for number, checked in enumerate(self.found, 1)
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
            for number, (question, _, place) in enumerate(self.unanswered, 1)
        ]
        return MadeQuestions(
            questions=(*answerable, *unanswerable),
            wanted=self.options.n + self.options.unanswerable,
            places=self.asked,
            refused=dict(sorted(self.refused.items())),
            usage=self.caller.usage + self.usage,
            first_error=self.first_error,
        )


_ASKED_WORDS = 15


def estimate_questions(
    base: KnowledgeBase, *, llm: LanguageModel, options: MakingOptions
) -> dict[str, Usage]:
    """Return a lower bound of the usage by task.

    Each refused question needs a further call, up to `PLACES_A_QUESTION` for each wanted question.
    Cached answers count as cached.

    Args:
        base: Knowledge base with the documents.
        llm: Model that would be called.
        options: Number and kind of the questions.

    Raises:
        OptionError: If there is no document.
    """
    caller = dry_run_caller(llm, cache=store_of(base))
    places = pick_places(base, seed=options.seed)
    for place in islice(places, options.n):
        caller.call(question_request(place.asked), read=_unread)
    for place in islice(places, options.unanswerable):
        caller.call(unanswerable_request(place.asked), read=_unread)
        _try(base, " ".join(content_words(place.text)[:_ASKED_WORDS]), caller=caller)
    return caller.usage_by_task


def _try(base: KnowledgeBase, words: str, *, caller: ModelCaller) -> None:
    """Count a call that tries to answer a question from the results of a search."""
    found = base.search(words, budget_tokens=TRIED.budget_tokens)
    task = answer_task(Question(text=words, options=TRIED), context=found.context, first=words)
    caller.call(task.request, read=_unread)


def _unread(_: str) -> None:
    """Accept any answer: the typical answer of a dry run is not a question about the place."""
