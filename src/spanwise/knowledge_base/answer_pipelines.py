"""Pipelines that answer questions, made from the parts of a knowledge base."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.knowledge_base.components import QuestionRequest
from spanwise.options import ExcerptOptions, SearchOptions, SegmentOptions

if TYPE_CHECKING:
    from spanwise.answers.answerer import Answerer
    from spanwise.answers.each_document import EachAsker
    from spanwise.answers.shown_pages import PageDrawer
    from spanwise.knowledge_base.components import AnswerRequest, Components
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import LanguageModel
    from spanwise.options import AnswerOptions
    from spanwise.types import Answer, ExcerptResult, SearchResult, WrittenQueries
    from spanwise.types.output_cache import OutputCache

_MODEL_DOTS_PER_INCH = 110  # a letter page has 935 by 1,210 pixels


def checked_llm(llm: str | LanguageModel | None) -> str | LanguageModel:
    """Return the language model of a question.

    Raises:
        OptionError: If none is given.
    """
    if not llm:
        raise OptionError(
            'no language model is named; give one such as "openai:gpt-5-mini" as `llm` '
            "(`--llm`, SPANWISE_LLM_MODEL), or use `search`, which needs none"
        )
    return llm


def make_answerer(
    components: Components, request: AnswerRequest, *, budget: Ledger | None = None
) -> Answerer:
    """Return the pipeline that answers a question; nothing is called yet.

    Args:
        components: Parts of the knowledge base.
        request: Arguments of `ask`.
        budget: Shared budget of several operations; None for the one of the knowledge base.

    Raises:
        OptionError: If no language model is given, or an argument does not fit another.
        ModelKeyError: If the API key of a model is missing.
    """
    from spanwise.answers.answerer import Answerer
    from spanwise.models.caller import FreshOutputs
    from spanwise.models.prompts.answers import check_answer_type

    llm = checked_llm(request.llm)
    options, answer_type, query_llm = request.options, request.answer_type, request.query_llm
    if answer_type is not None and options.excerpts:
        raise OptionError(
            f"answer_type is given with {options.excerpts} excerpts; a form is filled in from "
            "the segments of one search: leave one of them out"
        )
    ledger = components.ledger(budget)
    # An unusable reranker is refused before anything is paid.
    components.reranking(request.rerank, None, ledger=ledger)
    cache = FreshOutputs(cache=components.store) if request.fresh else None
    caller = partial(components.model_caller, ledger=ledger, cache=cache)
    return Answerer(
        caller=caller(llm),
        query_caller=None if query_llm is None else caller(query_llm),
        store=components.store,
        read_cited=components.read_cited,
        search=partial(_search_for_answer, components, request, ledger, cache),
        count_tokens=partial(_count_tokens, components),
        scope=request.scope,
        options=options,
        query_options=request.query_options,
        answer_type=None if answer_type is None else check_answer_type(answer_type),
        conversation=components.conversation(request),
        listener=components.listener,
        pages=_page_drawer(components, options),
    )


def make_each_asker(components: Components, request: AnswerRequest, *, dry_run: bool) -> EachAsker:
    """Return the pipeline that puts a question to each document; nothing is called yet.

    Args:
        components: Parts of the knowledge base.
        request: Arguments of `ask_each`.
        dry_run: Whether calls are only estimated.

    Raises:
        OptionError: If no language model is given.
        ModelKeyError: If the API key of the model is missing, except in a dry run.
    """
    from spanwise.answers.each_document import EachAsker

    options = request.options
    search_options = SearchOptions(
        budget_tokens=options.budget_tokens,
        segments=SegmentOptions.COMPREHENSIVE,
        abstain=options.abstain,
        deep=False,
        spread="passages",
    )
    ledger = components.ledger()
    caller = partial(_each_caller, components, request, ledger, dry_run=dry_run)

    def search(queries: WrittenQueries, document_id: str) -> SearchResult:
        question = QuestionRequest(
            question=queries.standalone,
            more_queries=queries,
            scope=request.scope._replace(documents=[document_id]),
        )
        return components.search(question, search_options, ledger=ledger)

    return EachAsker(
        caller=caller(checked_llm(request.llm)),
        query_caller=None if request.query_llm is None else caller(request.query_llm),
        store=components.store,
        read_cited=components.read_cited,
        search=search,
        scope=request.scope,
        options=options,
        query_options=request.query_options,
        dry_run=dry_run,
        listener=components.listener,
    )


def _each_caller(
    components: Components,
    request: AnswerRequest,
    ledger: Ledger,
    llm: str | LanguageModel,
    *,
    dry_run: bool,
) -> ModelCaller:
    """Return the caller of a model of `ask_each`, or one that only estimates its calls."""
    from spanwise.models.caller import FreshOutputs
    from spanwise.models.dry_run import dry_run_caller

    cache = FreshOutputs(cache=components.store) if request.fresh else None
    caller = components.model_caller(llm, ledger=ledger, cache=cache, needs_key=not dry_run)
    if not dry_run:
        return caller
    return dry_run_caller(
        caller.model,
        cache=cache or components.store,
        answer_retries=components.models.answer_retries,
        listener=components.listener,
    )


def _page_drawer(components: Components, options: AnswerOptions) -> PageDrawer | None:
    """Return an object that draws pages for the model; None if it gets no images."""
    from spanwise.answers.shown_pages import PageDrawer
    from spanwise.ingest.page_images import draw_pages

    if options.page_images == "off" or options.excerpts:
        return None
    draw = partial(
        draw_pages,
        dots_per_inch=_MODEL_DOTS_PER_INCH,
        parse=components.parse,
        fetch=components.fetch,
        stored=components.stored_file,
        for_model=True,
    )
    return PageDrawer(read=components.read_cited, draw=draw)


def _search_for_answer(
    components: Components,
    request: AnswerRequest,
    ledger: Ledger,
    outputs: OutputCache | None,
    queries: WrittenQueries,
    *,
    budget_tokens: int,
) -> SearchResult | ExcerptResult:
    """Return the segments or excerpts from which a question is answered."""
    options = request.options
    question = QuestionRequest(
        question=queries.standalone,
        more_queries=queries,
        scope=request.scope,
        rerank=request.rerank,
        rerank_options=request.rerank_options,
        cuts_sentences=budget_tokens == options.budget_tokens,
        outputs=outputs,
    )
    if options.excerpts:
        excerpts = ExcerptOptions(
            excerpts=options.excerpts,
            excerpt_tokens=options.excerpt_tokens,
            segments=options.segments,
            abstain=options.abstain,
            deep=options.deep,
            spread=options.spread,
        )
        return components.excerpts(question, excerpts, ledger=ledger)
    segments = SearchOptions(
        budget_tokens=budget_tokens,
        segments=options.segments,
        published=options.published,
        abstain=options.abstain,
        deep=options.deep,
        spread=options.spread,
    )
    return components.search(question, segments, ledger=ledger)


def _count_tokens(components: Components, text: str) -> int:
    """Return the number of tokens of a text."""
    from spanwise.models.providers.tokenizer import make_tokenizer

    return make_tokenizer(components.settings.tokenizer).count([text])[0]


def answer_run(
    components: Components, question: str, request: AnswerRequest, *, streams: bool
) -> Generator[str, None, Answer]:
    """Return a generator that yields the text of an answer and returns the answer.

    A complete answer is stored in the conversation of the request.

    Args:
        components: Parts of the knowledge base.
        question: Question of the user.
        request: Other arguments of `ask`.
        streams: Whether text is yielded while the model is still writing.
    """
    from spanwise.answers.conversation import AskedQuestion, store_turn
    from spanwise.answers.references import resolve_references
    from spanwise.answers.stored_threads import utc_now

    answerer = make_answerer(components, request)
    if request.thread is None:
        return answerer.run(question, streams=streams)
    resolved = resolve_references(question, answerer.conversation.turns)
    conversation = replace(
        answerer.conversation,
        turns=resolved.turns,
        asked="" if resolved.text == question else question,
    )
    return store_turn(
        replace(answerer, conversation=conversation).run(resolved.text, streams=streams),
        store=components.store,
        thread_id=request.thread,
        asked=AskedQuestion(
            text=question,
            asked_at=utc_now(),
            scope=request.scope,
            warnings=resolved.warnings,
        ),
    )
