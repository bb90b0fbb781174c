"""Retriever and node postprocessor for LlamaIndex (extra `llama-index`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field

from spanwise.core.extraction.scored_chunks import Scale, ScoredSegment, segments_from_scores
from spanwise.errors import OptionError
from spanwise.integrations.searches import (
    first_page,
    search_arguments,
    search_later,
    search_now,
    search_source,
    segment_fields,
    segment_id,
    segment_text,
)
from spanwise.models.providers.tokenizer import make_tokenizer

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.storage.docstore.types import BaseDocumentStore
except ImportError as error:
    raise OptionError(
        "the LlamaIndex retriever needs llama-index-core: pip install 'spanwise[llama-index]'"
    ) from error

if TYPE_CHECKING:
    from spanwise.integrations.searches import SearchSource
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import SearchResult, Segment

_SHOWN = "citation"  # metadata field that a language model sees


class SpanwiseRetriever(BaseRetriever):
    """LlamaIndex retriever that returns the segments of a search as nodes, in reading order.

    The score of a node is the relevance of its segment, a probability. Its metadata has the place
    of the segment, `file_path`, `file_name` and `page_label` as nodes of LlamaIndex's readers, and
    the metadata fields of the document. Language models see the citation only.
    """

    def __init__(  # noqa: PLR0913 - the arguments of a search
        self,
        knowledge_base: SearchSource | Sequence[KnowledgeBase],
        *,
        budget_tokens: int | None = None,
        preset: str | None = None,
        where: object = None,
        documents: Sequence[str] | None = None,
        headers: bool = False,
        search_arguments: Mapping[str, object] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """Create a retriever.

        Args:
            knowledge_base: Open `KnowledgeBase`, a list of them, or an object with the same method
                `search`: a `RemoteKnowledgeBase` (`spanwise.connect`) or an `AsyncKnowledgeBase`.
                The caller closes it.
            budget_tokens: Maximum tokens of all segments; None for the default of `search`.
            preset: Length of the segments: "precise", "balanced" or "comprehensive"; None for the
                default.
            where: Metadata filter as in `search`; None for all documents.
            documents: Ids of the documents to search; None for all.
            headers: Whether the text of each node begins with the header of its segment.
            search_arguments: Further keyword arguments of `search`.
            callback_manager: Callbacks of LlamaIndex.

        Raises:
            OptionError: If the knowledge base cannot be searched.
        """
        super().__init__(callback_manager=callback_manager)
        self._source = search_source(knowledge_base)
        self._given = {
            "budget_tokens": budget_tokens,
            "preset": preset,
            "where": where,
            "documents": documents,
            "headers": headers,
        }
        self._more = dict(search_arguments or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        arguments = search_arguments(self._given, more=self._more)
        return _nodes(search_now(self._source, query_bundle.query_str, arguments))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        arguments = search_arguments(self._given, more=self._more)
        return _nodes(await search_later(self._source, query_bundle.query_str, arguments))


class SegmentPostprocessor(BaseNodePostprocessor):
    """Node postprocessor that joins scored nodes of any retriever to contiguous segments.

    Consecutive nodes of a document are joined if their scores justify it, and weak nodes are
    left out. A segment is a new node with the text of its nodes without overlaps,
    the metadata that they share, their source, and the highest of their scores. Give many nodes
    (a `similarity_top_k` of 30 to 100) and, if possible, the `docstore`.

    Nodes are consecutive if their relationships say so, or if the second one begins at or before
    the end of the first one. Other nodes are not joined.
    """

    model_config = ConfigDict(extra="forbid")

    budget_tokens: int = 4_000
    """Maximum tokens of all segments."""
    preset: str = "balanced"
    """Length of the segments: "precise", "balanced" or "comprehensive"."""
    scale: Scale = "rank"
    """Meaning of the scores, see `segments_from_scores`. If no node has a score, the order of the
    nodes is used."""
    docstore: BaseDocumentStore | None = Field(default=None, exclude=True)
    """Store with all nodes of the documents. Nodes between two retrieved ones are read from it, so
    that a segment has no gap."""
    tokenizer: str = "o200k_base"
    """Tokenizer that counts the tokens."""
    separator: str = "\n\n"
    """Text between two nodes that do not overlap."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "SegmentPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle  # the scores are those of the retriever
        chunks = list(self._chunks(nodes))
        texts = [chunk.get_content(MetadataMode.NONE) for chunk, _ in chunks]
        documents = [chunk.ref_doc_id or chunk.node_id for chunk, _ in chunks]
        scores = _scores(nodes)
        segments = segments_from_scores(
            texts,
            [scores.get(chunk.node_id) for chunk, _ in chunks],
            documents=documents,
            positions=[position for _, position in chunks],
            tokens=[max(1, count) for count in make_tokenizer(self.tokenizer).count(texts)],
            scale=self.scale,
            budget_tokens=self.budget_tokens,
            preset=self.preset,
            separator=self.separator,
        )
        return [_joined([chunks[at][0] for at in one.chunks], one) for one in segments]

    def _chunks(self, nodes: Sequence[NodeWithScore]) -> Iterator[tuple[BaseNode, int]]:
        """Yield the nodes of each document in reading order, with positions.

        Positions of nodes that follow each other differ by 1.
        """
        by_document: dict[str, dict[str, BaseNode]] = {}
        for scored in nodes:
            node = scored.node
            document = by_document.setdefault(node.ref_doc_id or node.node_id, {})
            document[node.node_id] = node
        for document_id, found in by_document.items():
            ordered = self._stored(document_id, found) or _reading_order(list(found.values()))
            position = 0
            for before, node in zip([None, *ordered], ordered, strict=False):
                position += 1 if before is None or _follows(before, node) else 2
                yield node, position

    def _stored(self, document_id: str, found: Mapping[str, BaseNode]) -> list[BaseNode]:
        """Return all nodes of a document in reading order; none if the store lacks one of them."""
        if self.docstore is None:
            return []
        info = self.docstore.get_ref_doc_info(document_id)
        stored = self.docstore.get_nodes(info.node_ids, raise_error=False) if info else []
        known = {node.node_id for node in stored}
        return _reading_order(stored) if set(found) <= known else []


def _nodes(result: SearchResult) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=_node(segment, result), score=segment.relevance)
        for segment in result.segments
    ]


def _node(segment: Segment, result: SearchResult) -> TextNode:
    source = segment.citation.source
    usual = {  # the fields that readers of LlamaIndex set
        "file_path": source or segment.document_id,
        "file_name": PurePath(source or segment.document_id).name,
        "page_label": first_page(segment)[1],
    }
    fields = segment_fields(segment, result, more=usual)
    return TextNode(
        id_=segment_id(segment),
        text=segment_text(segment),
        metadata=fields,
        excluded_llm_metadata_keys=[name for name in fields if name != _SHOWN],
        excluded_embed_metadata_keys=list(fields),
        start_char_idx=segment.start,
        end_char_idx=segment.end,
        relationships={
            NodeRelationship.SOURCE: RelatedNodeInfo(node_id=segment.document_id),
        },
    )


def _scores(nodes: Sequence[NodeWithScore]) -> dict[str, float | None]:
    """Return the highest score of each node; without any score, the negative rank of each."""
    if all(scored.score is None for scored in nodes):
        return {scored.node.node_id: -float(rank) for rank, scored in enumerate(nodes)}
    scores: dict[str, float | None] = {}
    for scored in nodes:
        given = [scores.get(scored.node.node_id), scored.score]
        scores[scored.node.node_id] = max((one for one in given if one is not None), default=None)
    return scores


def _reading_order(nodes: Sequence[BaseNode]) -> list[BaseNode]:
    """Return nodes of one document by their first characters, or by their links if unknown."""
    starts = {node.node_id: _range(node)[0] for node in nodes}
    if None not in starts.values():
        return sorted(nodes, key=lambda node: starts[node.node_id] or 0)
    by_id = {node.node_id: node for node in nodes}
    ordered: dict[str, BaseNode] = {}
    heads = [node for node in nodes if _link(node, NodeRelationship.PREVIOUS) not in by_id]
    for head in [*heads, *nodes]:  # nodes without a head are linked in a circle
        node: BaseNode | None = head
        while node is not None and node.node_id not in ordered:
            ordered[node.node_id] = node
            node = by_id.get(_link(node, NodeRelationship.NEXT))
    return list(ordered.values())


def _follows(before: BaseNode, node: BaseNode) -> bool:
    """Return whether a node continues the one before it."""
    following = _link(before, NodeRelationship.NEXT)
    previous = _link(node, NodeRelationship.PREVIOUS)
    if following or previous:
        return following == node.node_id or previous == before.node_id
    end, start = _range(before)[1], _range(node)[0]
    return end is not None and start is not None and start <= end + 1


def _link(node: BaseNode, kind: NodeRelationship) -> str:
    """Return the id of a related node; empty for none."""
    related = node.relationships.get(kind)
    return related.node_id if isinstance(related, RelatedNodeInfo) else ""


def _range(node: BaseNode) -> tuple[int | None, int | None]:
    """Return the offsets of the first and the last character of a node in its document."""
    return getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)


def _joined(nodes: Sequence[BaseNode], segment: ScoredSegment) -> NodeWithScore:
    """Return the node of a segment."""
    first, last = nodes[0], nodes[-1]
    if len(nodes) == 1:
        return NodeWithScore(node=first, score=segment.score)
    shared = {
        name: value
        for name, value in first.metadata.items()
        if all(name in node.metadata and node.metadata[name] == value for node in nodes)
    }
    kinds = {
        NodeRelationship.SOURCE: first,
        NodeRelationship.PREVIOUS: first,
        NodeRelationship.NEXT: last,
    }
    node = TextNode(
        id_=f"{first.node_id}..{last.node_id}",
        text=segment.text,
        metadata=shared,
        excluded_llm_metadata_keys=list(first.excluded_llm_metadata_keys),
        excluded_embed_metadata_keys=list(first.excluded_embed_metadata_keys),
        start_char_idx=_range(first)[0],
        end_char_idx=_range(last)[1],
        relationships={
            kind: one.relationships[kind]
            for kind, one in kinds.items()
            if kind in one.relationships
        },
    )
    return NodeWithScore(node=node, score=segment.score)
