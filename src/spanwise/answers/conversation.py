"""Earlier turns and evidence of a conversation as context of the next question; storage of turns.

Rules:
    The model sees the last turns, limited by `AnswerOptions.history` and a quarter of the token
    budget. The last turn is always included; its answer is truncated if it exceeds that quarter.
    Earlier evidence is text that earlier answers quoted. It uses at most a quarter of the token
    budget; the new search uses the rest. It is not used with excerpts, because each source would
    cost another call.
    Earlier evidence is read again from the documents, by the citations of the turns. It is used
    only if the quoted text is still there, character for character.
    Earlier evidence consists of whole chunks, with one more chunk on either side in the same
    section. The latest quotes come first, until their share of the budget is used. Chunks that the
    new search returned are not repeated, and documents out of scope are left out.
    A turn stores citations, quotes and the scope of its question, but no text of documents. It is
    written in one transaction when its answer is complete; nothing is stored for an aborted
    question.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.answers.answer_sources import Source, Span
from spanwise.answers.search_queries import records_in_scope
from spanwise.core.answers.citations import cite_range, locate
from spanwise.core.documents.headers import chunk_header
from spanwise.core.extraction.render import render_segments
from spanwise.errors import OptionError, StoreError
from spanwise.packs.header_lines import head_lines
from spanwise.types import Turn

if TYPE_CHECKING:
    from spanwise.answers.answer_sources import AnswerSources
    from spanwise.models.ports import Tokenizer
    from spanwise.options import AnswerOptions
    from spanwise.search.scoring import Scope
    from spanwise.stores.port import Store
    from spanwise.types import Answer, Chunk, Citation, WholeDocument


_HISTORY_SHARE = 0.25
_EARLIER_SHARE = 0.25
_ELLIPSIS = " ..."


_MAX_CITATIONS = 64  # only the latest ones are looked up
_CHUNKS_AROUND = 1


@dataclass(frozen=True, slots=True)
class _QuotedDocument:
    """Current state of a document that an earlier answer quoted."""

    whole: WholeDocument
    chunks: tuple[Chunk, ...]

    def chunks_around(self, start: int, end: int) -> list[int]:
        """Return the indexes of the chunks that overlap a range, and of their neighbours.

        A neighbour must be in the section of the first or the last of these chunks.
        """
        overlapping = [chunk for chunk in self.chunks if chunk.start < end and start < chunk.end]
        first, last = overlapping[0], overlapping[-1]
        return [
            chunk.index
            for chunk in self.chunks[
                max(0, first.index - _CHUNKS_AROUND) : last.index + _CHUNKS_AROUND + 1
            ]
            if first.index <= chunk.index <= last.index
            or chunk.section in (first.section, last.section)
        ]

    def tokens(self, index: int) -> int:
        """Return an upper bound of the tokens of a chunk with its header."""
        chunk = self.chunks[index]
        return chunk.tokens + self.whole.sections[chunk.section].header_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierEvidence:
    """Chunks that earlier answers quoted and that are still in the documents."""

    tokens: int = 0
    """Upper bound of the tokens of all chunks with their headers."""
    warnings: tuple[str, ...] = ()
    """Messages about quoted text that was edited or removed."""
    documents: tuple[tuple[_QuotedDocument, tuple[int, ...]], ...] = ()
    """Quoted documents, the latest first, each with the positions of its chunks."""

    def append_to(self, evidence: AnswerSources) -> AnswerSources:
        """Return the sources of a search, followed by the earlier evidence that they lack."""
        earlier = [
            source
            for document, indices in self.documents
            for source in _sources(document, _uncovered(document, indices, evidence.sources))
        ]
        sources = (*evidence.sources, *earlier)
        context = evidence.context
        if earlier:
            context = render_segments(
                [source.text for source in sources],
                citations=[source.citation for source in sources],
                headers=[source.header for source in sources],
                also_in=[source.also_in for source in sources],
            )
        warnings = (*evidence.warnings, *self.warnings)
        return replace(evidence, sources=sources, context=context, warnings=warnings)


def find_earlier_evidence(
    store: Store, turns: Sequence[Turn], *, scope: Scope, budget_tokens: int
) -> EarlierEvidence:
    """Return the evidence quoted in earlier turns that is still in the documents.

    Args:
        store: Store of the documents.
        turns: Turns of the conversation, oldest first.
        scope: Documents that may be searched now.
        budget_tokens: Maximum tokens of the evidence.

    Raises:
        FilterError: If the filter does not fit the metadata of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    is_unlimited = scope.where is None and scope.documents is None
    allowed = None if is_unlimited else {record.id for record in records_in_scope(store, scope)}
    documents: dict[str, _QuotedDocument | None] = {}
    chunks: dict[str, set[int]] = {}
    tokens, changed = 0, []
    for citation in _latest_citations(turns):
        name = citation.document_id
        if allowed is not None and name not in allowed:
            continue
        if name not in documents:
            documents[name] = _read(store, name)
        document = documents[name]
        place = None if document is None else _locate(document.whole, citation)
        if document is None or place is None:
            changed.append(citation)
            continue
        new_chunks = set(document.chunks_around(*place)) - chunks.get(name, set())
        cost = sum(map(document.tokens, new_chunks))
        if tokens + cost <= budget_tokens:
            tokens += cost
            chunks.setdefault(name, set()).update(new_chunks)
    return EarlierEvidence(
        tokens=tokens,
        warnings=tuple(_warnings(changed)),
        documents=tuple(
            (document, tuple(sorted(chunks[name])))
            for name, document in documents.items()
            if document is not None and name in chunks
        ),
    )


def _latest_citations(turns: Sequence[Turn]) -> list[Citation]:
    """Return the distinct citations of verified quotes, the latest turn first, at most 64."""
    citations = [
        cited.citation
        for turn in reversed(turns)
        for cited in turn.answer.citations
        if cited.citation is not None
    ]
    return list(dict.fromkeys(citations))[:_MAX_CITATIONS]


def _read(store: Store, document_id: str) -> _QuotedDocument | None:
    """Return a document and its chunks; None if it was removed or is being replaced."""
    whole = store.get_whole(document_id)
    chunks = store.get_chunks(document_id)
    if whole is None or "".join(chunk.text for chunk in chunks) != whole.document.text:
        return None
    return _QuotedDocument(whole, chunks)


def _locate(whole: WholeDocument, citation: Citation) -> tuple[int, int] | None:
    """Return the current range of a cited text; None if the document no longer contains it."""
    try:
        location = locate(whole, citation)
    except OptionError:  # the text begins in too many places to compare them all
        return None
    if location.status not in ("current", "moved") or location.citation is None:
        return None
    return location.citation.start, location.citation.end


def _warnings(changed: Iterable[Citation]) -> Iterator[str]:
    for name in dict.fromkeys(citation.document_id for citation in changed):
        yield (
            f"the text that an earlier answer quotes from {name!r} is no longer there: the "
            "document was edited or removed"
        )


def _uncovered(
    document: _QuotedDocument, indices: Sequence[int], sources: Sequence[Source]
) -> list[int]:
    """Return the indexes of the chunks that no source contains completely."""
    ranges = [
        (span.start, span.start + len(span.text))
        for source in sources
        if source.citation.document_id == document.whole.record.id
        for span in source.spans
    ]
    return [
        index
        for index in indices
        if not any(
            start <= document.chunks[index].start and document.chunks[index].end <= end
            for start, end in ranges
        )
    ]


def _sources(document: _QuotedDocument, indices: Sequence[int]) -> Iterator[Source]:
    """Yield one source for each run of consecutive chunks in a section, in order."""
    runs: list[list[Chunk]] = []
    for chunk in (document.chunks[index] for index in indices):
        if runs and (runs[-1][-1].index + 1, runs[-1][-1].section) == (chunk.index, chunk.section):
            runs[-1].append(chunk)
        else:
            runs.append([chunk])
    record = document.whole.record
    title, summary = head_lines(record.title, summary=record.summary, metadata=record.metadata)
    for run in runs:
        section = document.whole.sections[run[0].section]
        text = "".join(chunk.text for chunk in run)
        yield Source(
            citation=cite_range(document.whole, run[0].start, run[-1].end),
            header=chunk_header(
                title,
                summary=summary,
                section_path=section.path,
                section_summary=section.summary,
            ),
            text=text,
            spans=(Span(start=run[0].start, text=text),),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Earlier turns and evidence for the next question; empty without a conversation."""

    turns: tuple[Turn, ...] = ()
    """Last turns, oldest first."""
    earlier: EarlierEvidence = field(default_factory=EarlierEvidence)
    """Evidence quoted in these turns."""
    asked: str = ""
    """Question before citation numbers were resolved; empty if none was resolved."""

    def words_of_user(self, question: str, standalone: str) -> str:
        """Return the question with its standalone form, which statements may repeat.

        If citation numbers were resolved, both contain titles of documents. The questions as the
        user wrote them are then returned.
        """
        if not self.asked:
            return f"{question}\n{standalone}"
        return "\n".join([self.asked, *(turn.question for turn in self.turns)])


def open_conversation(
    store: Store, thread_id: str, *, options: AnswerOptions, scope: Scope, tokenizer: Tokenizer
) -> Conversation:
    """Return the earlier turns and evidence of a conversation for its next question.

    Args:
        store: Store of conversations and documents.
        thread_id: Id of an existing or new conversation.
        options: Options that limit the turns and the tokens.
        scope: Documents that may be searched.
        tokenizer: Tokenizer for the length of turns.

    Raises:
        FormatError: If a turn is missing or damaged.
        FilterError: If the filter does not fit the metadata of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    thread = store.get_thread(thread_id)
    if thread is None or not options.history:
        return Conversation()
    turns = _last_turns(
        thread.turns[-options.history :],
        budget_tokens=int(options.budget_tokens * _HISTORY_SHARE),
        tokenizer=tokenizer,
    )
    if options.excerpts:
        return Conversation(turns=turns)
    budget_tokens = int(options.budget_tokens * _EARLIER_SHARE)
    earlier = find_earlier_evidence(store, turns, scope=scope, budget_tokens=budget_tokens)
    return Conversation(turns=turns, earlier=earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """Question of the user in a conversation."""

    text: str
    """Question as the user gave it."""
    asked_at: str
    """Time of the question, ISO 8601 in UTC."""
    scope: Scope
    """Documents that the question is restricted to."""
    warnings: tuple[str, ...] = ()
    """Messages about the question, which precede those of the answer."""


def store_turn(
    run: Generator[str, None, Answer], *, store: Store, thread_id: str, asked: AskedQuestion
) -> Generator[str, None, Answer]:
    """Yield the pieces of an answer, and append the complete answer to a conversation.

    If the conversation cannot be written, the answer is still returned, with a warning.

    Args:
        run: Generator that yields the pieces and returns the answer.
        store: Store of the conversation.
        thread_id: Id of the conversation.
        asked: The question.
    """
    answer = yield from run
    standalone, scope = answer.queries[0], asked.scope
    answer = replace(
        answer,
        question=asked.text,
        standalone="" if standalone == asked.text else standalone,
        warnings=(*asked.warnings, *answer.warnings),
        thread=thread_id,
    )
    turn = Turn(
        question=asked.text,
        standalone=standalone,
        answer=answer,
        asked_at=asked.asked_at,
        documents=None if scope.documents is None else tuple(scope.documents),
        where="" if scope.where is None else str(scope.where),
    )
    try:
        store.append_turn(thread_id, turn)
    except StoreError as error:
        warning = f"this answer is not stored in the conversation {thread_id!r}: {error}"
        return replace(answer, warnings=(*answer.warnings, warning))
    return answer


def _last_turns(
    turns: Sequence[Turn], *, budget_tokens: int, tokenizer: Tokenizer
) -> tuple[Turn, ...]:
    """Return the last turns that fit the budget; the last one is included in any case."""
    counts = tokenizer.count([f"{turn.question}\n{turn.answer.text}" for turn in turns])
    first = len(turns)
    remaining = budget_tokens
    while first and counts[first - 1] <= remaining:
        first -= 1
        remaining -= counts[first]
    if turns and first == len(turns):
        return (_truncate(turns[-1], budget_tokens / counts[-1]),)
    return tuple(turns[first:])


def _truncate(turn: Turn, share: float) -> Turn:
    """Return a turn whose answer is truncated to a share of its text, in [0, 1]."""
    text = turn.answer.text
    answer = replace(turn.answer, text=text[: int(len(text) * share)] + _ELLIPSIS)
    return replace(turn, answer=answer)
