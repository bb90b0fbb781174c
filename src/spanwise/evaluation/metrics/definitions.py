"""Definitions of all metrics: name, words, unit, direction and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Unit = Literal["share", "tokens", "characters", "texts", "documents", "pages", "seconds", "dollars"]
"""Unit of a metric. A share is in [0, 1] and displayed in percent."""

_SMITH = "Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, Chroma 2024"
_PACKAGE = f"{_SMITH}: as its package chunking_evaluation computes it"
_PIPITONE = "Pipitone and Alami, LegalBench-RAG, arXiv:2408.10343"
_REUTER = "Reuter et al., Towards Reliable Retrieval in RAG Systems, arXiv:2510.06999: DRM"
_VOORHEES = "Voorhees, The TREC-8 Question Answering Track Report, 1999"
_JARVELIN = "Järvelin and Kekäläinen, Cumulated gain-based evaluation, TOIS 20(4), 2002"
_ISLAM = "Islam et al., FinanceBench, arXiv:2311.11944: evidence is a page"
_MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, ch. 8"
_LIN = "Lin, ROUGE, 2004: recall of trigrams; repeated text counts once"
_HIT = "success at a cut-off (TREC), with pieces of evidence as documents"
_PLAIN = "a plain count"
_MIN = "Only as many texts as there are chunks with evidence."


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Definition of a metric."""

    name: str
    """Name in JSON."""
    words: str
    """Name in table heads and sentences."""
    meaning: str
    """Explanation for readers who do not know the metric."""
    unit: Unit
    higher_is_better: bool | None
    """Whether higher values are better; None if neither direction is better."""
    source: str
    """Paper or program that defines the metric."""


def _share(
    name: str, words: str, meaning: str, source: str, *, better: bool | None = True
) -> Metric:
    return Metric(
        name=name,
        words=words,
        meaning=meaning,
        unit="share",
        higher_is_better=better,
        source=source,
    )


def _amount(name: str, words: str, meaning: str, unit: Unit, *, better: bool | None) -> Metric:
    return Metric(
        name=name,
        words=words,
        meaning=meaning,
        unit=unit,
        higher_is_better=better,
        source=_PLAIN,
    )


_CHARACTERS = (
    _share("recall", "recall", "Evidence characters that were returned.", _PIPITONE),
    _share("precision", "precision", "Returned characters that are evidence.", _PIPITONE),
    _share("iou", "IoU", "Intersection over union of evidence and returned text.", _SMITH),
    _share("f1", "F1", "Harmonic mean of precision and recall.", _MANNING),
)
_TOKENS = (
    _share("token_recall", "token recall", "Evidence tokens that were returned.", _SMITH),
    _share("token_precision", "token precision", "Returned tokens that are evidence.", _SMITH),
    _share("token_iou", "token IoU", "Intersection over union, in tokens.", _SMITH),
    _share("token_f1", "token F1", "Harmonic mean of token precision and recall.", _MANNING),
)
_HITS = (
    _share("ev_hit50", "evidence hit", "Pieces of evidence returned at least by half.", _HIT),
    _share("ev_hit100", "evidence hit whole", "Pieces of evidence returned whole.", _HIT),
    _share("all_hit50", "all evidence hit", "1 if every piece is at least half returned.", _HIT),
    _share("all_hit100", "all evidence hit whole", "1 if every piece is returned whole.", _HIT),
)
_RANKS = (
    _share("mrr", "MRR", "Reciprocal rank of the first text with evidence.", _VOORHEES),
    _share(
        "mrr50", "MRR of half", "Reciprocal rank of the first text with half a piece.", _VOORHEES
    ),
    _share("ndcg", "nDCG", "New evidence in each text, discounted by rank.", _JARVELIN),
)
_DOCUMENTS = (
    _share("doc_recall", "document recall", "Documents with evidence that were found.", _MANNING),
    _share("doc_hit1", "first document right", "1 if the first text is from such one.", _MANNING),
    _share("doc_miss", "document missed", "1 if no such document is found.", _REUTER, better=False),
    _share(
        "wrong_doc",
        "wrong-document rate",
        "Returned texts from documents without evidence (DRM).",
        _REUTER,
        better=False,
    ),
    _share(
        "wrong_doc_chars",
        "wrong-document characters",
        "Returned characters from documents without evidence.",
        _REUTER,
        better=False,
    ),
)
_PAGES = (
    _share("page_recall", "page recall", "Pages with evidence that were returned.", _ISLAM),
    _share("page_precision", "page precision", "Returned pages that have evidence.", _ISLAM),
    _share("page_all_hit", "all pages hit", "1 if every evidence page was returned.", _ISLAM),
    _share("page_mrr", "page MRR", "Reciprocal rank of the first text on such a page.", _VOORHEES),
)
_WORDS = (
    _share("text_recall", "text recall", "Word trigrams of the evidence that were returned.", _LIN),
    _share("text_hit50", "text hit", "Pieces with half of their trigrams returned.", _LIN),
    _share("text_hit90", "text hit at 90 %", "Pieces with 90 % of their trigrams returned.", _LIN),
    _share("text_all_hit90", "all text hit at 90 %", "1 if every piece is hit at 90 %.", _LIN),
)
_CHROMA = (
    _share("chroma_iou", "Chroma IoU", "IoU; repeated text counts repeatedly.", _PACKAGE),
    _share("chroma_recall", "Chroma recall", "Evidence that was returned.", _PACKAGE),
    _share("chroma_precision", "Chroma precision", "Returned text that is evidence.", _PACKAGE),
    _share(
        "chroma_precision_omega",
        "Chroma precision (omega)",
        "Precision of all chunks with evidence: the maximum for this chunking.",
        _PACKAGE,
    ),
    _share("chroma_min_iou", "Chroma IoU (Min)", _MIN, _PACKAGE),
    _share("chroma_min_recall", "Chroma recall (Min)", _MIN, _PACKAGE),
    _share("chroma_min_precision", "Chroma precision (Min)", _MIN, _PACKAGE),
)
_AMOUNTS = (
    _share("dup", "repeated", "Returned characters that are repetitions.", _PLAIN, better=False),
    _amount("segments", "texts", "Texts returned.", "texts", better=None),
    _amount("docs", "documents", "Documents of the returned texts.", "documents", better=None),
    _amount("pages", "pages", "Pages returned.", "pages", better=None),
    _amount("tokens", "tokens", "Tokens returned.", "tokens", better=None),
    _amount("chars", "characters", "Characters returned.", "characters", better=None),
    _amount(
        "chars_union", "different characters", "Without repetitions.", "characters", better=None
    ),
    _amount(
        "chars_without_evidence",
        "characters without evidence",
        "Characters returned for a question without evidence.",
        "characters",
        better=None,
    ),
    _amount(
        "tokens_without_evidence",
        "tokens without evidence",
        "Tokens returned for a question without evidence.",
        "tokens",
        better=None,
    ),
    _amount("seconds", "seconds", "Time of a search.", "seconds", better=False),
    _amount("cost", "dollars", "Cost of models.", "dollars", better=False),
)

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for group in (
        _CHARACTERS,
        _TOKENS,
        _HITS,
        _RANKS,
        _DOCUMENTS,
        _PAGES,
        _WORDS,
        _CHROMA,
        _AMOUNTS,
    )
    for metric in group
}
"""Metrics by name, in display order. `score` computes all except `seconds` and `cost`."""
