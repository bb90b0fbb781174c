"""Descriptions of figures by a language model that accepts images.

Rules:
    Each figure is drawn, requested and cached separately, so a described figure is not requested
    again.
    A figure that the model does not describe stays without a description, and a warning of the
    document names it. If the model is unreachable, no more figures are requested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.core.documents.figure_texts import insert_descriptions, is_image
from spanwise.errors import (
    CostLimitError,
    DocumentError,
    ModelError,
    ModelKeyError,
)
from spanwise.ingest.model_health import ModelHealth, is_model_failure
from spanwise.models.prompts.figures import describe_figure
from spanwise.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.types import Document, Figure


_AROUND_CHARS = 400
_MAX_FIGURES = 500
"""Maximum number of figures of a document that are described."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReading:
    """Result of describing the figures of a document."""

    document: Document
    """Document with the descriptions."""
    failure: str = ""
    """Human-readable message about the figures that were not described; empty for none."""
    is_reachable: bool = True
    """Whether the model is reachable."""
    is_unfinished: bool = False
    """Whether figures should be requested again in a later run, because the model failed."""


def describe_figures(
    document: Document, draw: Callable[[Figure], bytes], *, caller: ModelCaller
) -> FigureReading:
    """Return a document with descriptions of its figures, and without figures that are decoration.

    Args:
        document: Document with figures that have no description yet.
        draw: Function that returns a figure as an image file.
        caller: Caller of the model.

    Raises:
        CostLimitError: If a call would exceed the cost limit.
        ModelKeyError: If the provider rejects the key.
    """
    describer = _Describer(document=document, draw=draw, caller=caller)
    figures = document.figures[:_MAX_FIGURES]
    outcomes = dict(
        enumerate(map_bounded(describer.describe, figures, limit=caller.model.concurrency))
    )
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, Exception)]
    kept = [at for at in range(len(document.figures)) if outcomes.get(at, "") is not None]
    described = {
        place: text for place, at in enumerate(kept) if isinstance(text := outcomes.get(at), str)
    }
    remaining = replace(document, figures=tuple(document.figures[at] for at in kept))
    undescribed = len(kept) - len(described)
    if is_image(document) and document.status == "needs_ocr" and not undescribed:
        remaining = replace(remaining, status="ok", warnings=())  # OCR would add little
    failure = ""
    if undescribed:
        cause = errors[0] if errors else f"at most {_MAX_FIGURES} figures are described"
        failure = (
            f"{undescribed} of {len(document.figures)} figures not described by "
            f"{caller.model.name}: {cause}"
        )
    return FigureReading(
        document=insert_descriptions(remaining, described, model=caller.model.name),
        failure=failure,
        is_reachable=describer.health.is_reachable,
        is_unfinished=any(map(is_model_failure, errors)),
    )


@dataclass(slots=True, kw_only=True)
class _Describer:
    """Requests descriptions, on several threads, as long as the model is reachable."""

    document: Document
    draw: Callable[[Figure], bytes]
    caller: ModelCaller
    health: ModelHealth = field(default_factory=ModelHealth)

    def describe(self, figure: Figure) -> str | ModelError | DocumentError | None:
        """Return the description of a figure, None for decoration, or an error."""
        if (failure := self.health.last_failure()) is not None:
            return failure
        text = self.document.text
        before = text[max(0, figure.start - _AROUND_CHARS) : figure.start]
        after = text[figure.start : figure.start + _AROUND_CHARS]
        around = f"{self.document.title}\n{figure.caption}\n{before} [...] {after}"
        try:
            result = describe_figure(self.draw(figure), caller=self.caller, around=around)
        except (CostLimitError, ModelKeyError):
            raise
        except DocumentError as error:
            return error
        except ModelError as error:
            self.health.count_failure(error)
            return error
        self.health.count_success()
        return result
