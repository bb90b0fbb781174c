"""Answers from the documents of a knowledge base, by a language model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

from spanwise.errors import OptionError
from spanwise.knowledge_base.asking import within
from spanwise.knowledge_base.calling import make_caller
from spanwise.knowledge_base.checks import checked_id
from spanwise.knowledge_base.searching import Searching
from spanwise.knowledge_base.threads import moment
from spanwise.models.ledger import Ledger
from spanwise.options import AnswerOptions, ExcerptOptions, QueryOptions

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.answers.answerer import Answerer
    from spanwise.answers.conversation import Conversation
    from spanwise.answers.stream import AnswerStream
    from spanwise.filters import Filter
    from spanwise.models.ports import LanguageModel, Reranker
    from spanwise.options import RerankOptions
    from spanwise.search.scoring import Scope
    from spanwise.types import Answer, ExcerptResult, SearchResult


class AskArguments(TypedDict, total=False):
    """Arguments of `KnowledgeBase.ask` beside the question; all but `llm` may be left out."""

    llm: str | LanguageModel | None
    documents: Sequence[str] | None
    where: Filter | str | None
    options: AnswerOptions | None
    write_queries: bool
    query_options: QueryOptions | None
    rerank: str | Reranker | None
    rerank_options: RerankOptions | None
    answer_type: type[BaseModel] | None
    thread: str | None


class Answering(Searching):
    """What a `KnowledgeBase` answers with a language model."""

    def ask(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        question: str,
        *,
        llm: str | LanguageModel | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        options: AnswerOptions | None = None,
        write_queries: bool = True,
        query_options: QueryOptions | None = None,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
        answer_type: type[BaseModel] | None = None,
        thread: str | None = None,
    ) -> Answer:
        """Return the answer to a question from the documents alone, every quote of it checked.

        Each statement cites: "[1]" in the text stands for `citations[0]`, whose quote was found in
        the stored text, and which says document, characters and pages. A quote that was not found
        is marked "[1?]", a statement without one "[?]", and `warnings` count them. Where the
        documents hold no answer, `refused` is true and the text says what was searched.

        Args:
            question: What is asked, in any words.
            llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
            documents: Ids of the documents to search; all when None.
            where: Filter on metadata, as `search`.
            options: How much is read, guidance, and whether excerpts are read one by one.
            write_queries: Whether the model first writes queries for the question.
            query_options: How it writes them.
            rerank: As `search`.
            rerank_options: As `search`.
            answer_type: Form in which the answer is wanted: it is `data` of what is returned.
            thread: Id of a conversation that the question follows, or that it begins: what was
                said and quoted in it before is told to the model, and the answer is kept in it.

        Raises:
            OptionError: If no model is named or there is none such, or an option does not fit
                another.
            QueryError: If the question holds nothing to search for.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
            ModelKeyError: If there is no key for the model, or it is refused.
            ModelAnswerError: If the model gives no usable answer.
            CostLimitError: If it would cost more than is allowed.
            ModelError: If the model fails.
        """
        from spanwise.answers.stream import AnswerStream

        run = self._run(
            question,
            streams=False,
            llm=llm,
            documents=documents,
            where=where,
            options=options,
            write_queries=write_queries,
            query_options=query_options,
            rerank=rerank,
            rerank_options=rerank_options,
            answer_type=answer_type,
            thread=thread,
        )
        return AnswerStream(run).answer

    def ask_stream(self, question: str, **arguments: Unpack[AskArguments]) -> AnswerStream:
        """Return the answer to a question while it is being written, statement by statement.

        Iterate over what is returned for the pieces of the text: the quotes of each are checked
        already. Its `answer` is the whole answer, as `ask` returns it. Takes what `ask` takes; what
        `ask` raises is raised here, or when the pieces are read.
        """
        from spanwise.answers.stream import AnswerStream

        return AnswerStream(self._run(question, streams=True, **arguments))

    def _run(
        self, question: str, *, streams: bool, **arguments: Unpack[AskArguments]
    ) -> Generator[str, None, Answer]:
        """Return what yields an answer and returns it, and keeps it where a thread is named."""
        from spanwise.answers.conversation import store_turn

        run = self._answerer(**arguments).run(question, streams=streams)
        thread = arguments.get("thread")
        if thread is None:
            return run
        return store_turn(
            run, store=self._store, thread_id=thread, question=question, asked_at=moment()
        )

    def _answerer(
        self, *, budget: Ledger | None = None, **arguments: Unpack[AskArguments]
    ) -> Answerer:
        """Return the pipeline that answers a question with these arguments. Nothing is called.

        Args:
            budget: Shared budget of several operations; None for none.
            **arguments: Arguments of `ask`.

        Raises:
            OptionError: If no model is named or there is none such, or an option does not fit
                another.
            ModelKeyError: If there is no key for the model.
        """
        from spanwise.answers.answerer import Answerer
        from spanwise.models.prompts.answers import check_answer_type
        from spanwise.search.scoring import Scope

        llm = arguments.get("llm")
        if llm is None or llm == "":
            raise OptionError(
                'no language model is named; give one such as "openai:gpt-5-mini" as `llm` '
                "(`--llm`, SPANWISE_LLM_MODEL), or use `search`, which needs none"
            )
        options = arguments.get("options") or AnswerOptions()
        answer_type = arguments.get("answer_type")
        if answer_type is not None and options.excerpts:
            raise OptionError(
                f"answer_type is given with {options.excerpts} excerpts; a form is filled in from "
                "the segments of one search: leave one of both out"
            )
        place = within(
            queries=(), documents=arguments.get("documents"), where=arguments.get("where")
        )
        documents, rerank = place["documents"], arguments.get("rerank")
        scope = Scope(where=place["where"], documents=documents)
        ledger = self._operation(budget)
        self._reranking(rerank, None, ledger=ledger)  # refuse an unusable one before any payment

        def search(
            question: str, *, queries: Sequence[str], where: Filter | None, budget_tokens: int
        ) -> SearchResult | ExcerptResult:
            if options.excerpts:
                return self._excerpts(
                    question,
                    ledger=ledger,
                    queries=queries,
                    where=where,
                    documents=documents,
                    options=ExcerptOptions(
                        excerpts=options.excerpts, excerpt_tokens=options.excerpt_tokens
                    ),
                    rerank=rerank,
                    rerank_options=arguments.get("rerank_options"),
                )
            return self._search(
                question,
                ledger=ledger,
                queries=queries,
                where=where,
                documents=documents,
                budget_tokens=budget_tokens,
                rerank=rerank,
                rerank_options=arguments.get("rerank_options"),
            )

        writes = arguments.get("write_queries", True)
        return Answerer(
            caller=make_caller(
                llm, cache=self._store, models=self._models, ledger=Ledger(parent=ledger)
            ),
            store=self._store,
            search=search,
            scope=scope,
            options=options,
            query_options=(arguments.get("query_options") or QueryOptions()) if writes else None,
            answer_type=None if answer_type is None else check_answer_type(answer_type),
            conversation=self._conversation(arguments.get("thread"), options, scope),
        )

    def _conversation(
        self, thread: str | None, options: AnswerOptions, scope: Scope
    ) -> Conversation:
        """Return the conversation that a question follows, an empty one where it follows none."""
        from spanwise.answers.conversation import Conversation, open_conversation
        from spanwise.models.providers.tokenizer import make_tokenizer

        if thread is None:
            return Conversation()
        return open_conversation(
            self._store,
            checked_id(thread, called="thread"),
            options=options,
            scope=scope,
            tokenizer=make_tokenizer(self._settings.tokenizer),
        )
