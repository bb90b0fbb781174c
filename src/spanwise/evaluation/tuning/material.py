"""What is tuned with: examples of all questions, for each way the documents can be searched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spanwise.evaluation.tuning.examples import Example, collect_examples
from spanwise.options import ChunkOptions

if TYPE_CHECKING:
    from spanwise.core.relevance import RelevanceModel
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.tuning.options import TuneOptions
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.query.rerank import Reranking

__all__ = ["Material", "chunk_options", "collected", "other_chunks", "with_chunks"]

Hear = Callable[[str, int, int], None]
_LONGEST, _SHORTEST, _BLOCK = 1.15, 0.5, 2.0  # of the target: as in the default


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Material:
    """A knowledge base, and the examples of all questions in it."""

    base: KnowledgeBase
    chunks: ChunkOptions | None
    """None for the knowledge base as it is."""
    examples: Mapping[float, Sequence[Example]]
    """By share of keywords."""

    def of(self, questions: Sequence[LabelledQuestion]) -> dict[float, list[Example]]:
        """Return the examples of some questions."""
        ids = {one.id for one in questions}
        return {
            share: [one for one in found if one.question.id in ids]
            for share, found in self.examples.items()
        }


def collected(
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    *,
    model: RelevanceModel,
    options: TuneOptions,
    reranking: Reranking | None = None,
    chunks: ChunkOptions | None = None,
) -> Material:
    """Return the examples of some questions in a knowledge base.

    With a reranker the share of keywords stays as it is: each other one would have it read more.
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
        )
        for share in shares
    }
    return Material(base=base, chunks=chunks, examples=examples)


def chunk_options(target: int) -> ChunkOptions:
    """Return options for chunks of another length, their limits in proportion."""
    return ChunkOptions(
        target=target,
        max=round(target * _LONGEST),
        paragraph_min=max(1, round(target * _SHORTEST)),
        block_max=round(target * _BLOCK),
    )


def other_chunks(base: KnowledgeBase, targets: Sequence[int]) -> list[ChunkOptions]:
    """Return options for chunks of some lengths, without those that a knowledge base has."""
    own = base.info().settings["chunks"]
    tried = [chunk_options(target) for target in dict.fromkeys(targets)]
    return [one for one in tried if asdict(one) != json.loads(own)]


@contextmanager
def with_chunks(
    base: KnowledgeBase, chunks: ChunkOptions, *, hear: Hear
) -> Iterator[KnowledgeBase]:
    """Give a knowledge base with the same documents and sections in other chunks, for a while.

    Args:
        base: Whose documents.
        chunks: How they are cut.
        hear: Hears what is done.

    Raises:
        DocumentError: If chunks cannot be embedded; the error of the embedder is its cause.
    """
    with TemporaryDirectory(prefix="spanwise-tune-") as folder:

        def said(done: int, total: int) -> None:
            hear(f"chunks of {chunks.target}", done, total)

        with base.in_other_chunks(Path(folder) / "work.kb", chunks, on_document=said) as work:
            yield work
