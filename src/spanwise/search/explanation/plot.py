"""The relevance along each document as a figure of matplotlib: an extra, `spanwise[plot]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spanwise.search.explanation.explanation import DocumentExplanation, Explanation


_ACCENT, _SHADE, _QUIET = "#2f6fde", "#f2b84b", "#888888"
_WIDTH_INCHES, _ROW_INCHES = 9.0, 1.6
_TITLE_CHARS = 90


def plot_explanation(explanation: Explanation, *, documents: int) -> Figure:
    """Return a figure with a row for each document, best first.

    Across stand the chunks, up the relevance, by its square root, so that small ones show. Chosen
    segments are shaded; the dashed line is the relevance at which a chunk is worth nothing. Chunks
    that were not read have no bar.

    Args:
        explanation: Of a search that found something.
        documents: How many rows at most, at least 1.

    Raises:
        OptionError: If matplotlib is not installed, nothing was scored, or `documents` is below 1.
    """
    if documents < 1:
        raise OptionError(f"documents is {documents!r}; it must be at least 1")
    shown = explanation.documents[:documents]
    if not shown:
        raise OptionError("nothing was weighed for this question; there is nothing to plot")
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise OptionError("matplotlib is not installed; pip install 'spanwise[plot]'") from error
    figure = NewFigure(
        figsize=(_WIDTH_INCHES, _ROW_INCHES * len(shown) + 0.6), layout="constrained"
    )
    figure.suptitle(explanation.result.question, fontsize=11, x=0.01, ha="left")
    rows = figure.subplots(len(shown), 1, squeeze=False, sharey=True)[:, 0]
    for axes, document in zip(rows, shown, strict=True):
        _draw(axes, document, explanation)
    rows[-1].set_xlabel("chunk of the document")
    return figure


def _draw(axes: Axes, document: DocumentExplanation, explanation: Explanation) -> None:
    """Draw one document."""
    for segment in explanation.result.segments:
        if segment.document_id == document.document_id:
            axes.axvspan(
                segment.first_chunk - 0.5, segment.last_chunk - 0.5, color=_SHADE, alpha=0.35, lw=0
            )
    for run in document.runs:
        places = range(run.start, run.start + len(run.relevances))
        axes.bar(places, run.relevances, width=0.9, color=_ACCENT)
    penalty = explanation.terms.irrelevant_chunk_penalty
    axes.axhline(penalty, color=_QUIET, linestyle="--", linewidth=0.8)
    axes.set_xlim(-0.5, max(document.chunks, 1) - 0.5)
    axes.set_yscale("function", functions=(np.sqrt, np.square))
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.1, 0.5, 1], ["0", "0.1", "0.5", "1"])
    axes.set_ylabel("relevance")
    title = document.title or document.document_id
    axes.set_title(title[:_TITLE_CHARS], fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
