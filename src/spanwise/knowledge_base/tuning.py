"""Whether a tuning fits the knowledge base that it is used with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.errors import EmbedderMismatchError, OptionError

if TYPE_CHECKING:
    from spanwise.knowledge_base.settings import Settings
    from spanwise.search.tuned_options import Tuning


def check_tuning(tuning: Tuning, settings: Settings, *, place: str) -> None:
    """Raise if a tuning was made for another embedder or other chunks.

    Args:
        tuning: As it was read.
        settings: Of the knowledge base.
        place: File of the tuning, for messages.

    Raises:
        EmbedderMismatchError: If the embedder is another one.
        OptionError: If it wants other chunks.
    """
    if tuning.embedder != settings.embedder:
        raise EmbedderMismatchError(
            f"{place} was tuned with the embedder {tuning.embedder!r}, and this knowledge base has "
            f"vectors of {settings.embedder!r}; tune again with this knowledge base"
        )
    if tuning.chunks is not None and tuning.chunks != settings.chunks:
        raise OptionError(
            f"{place} was tuned for chunks of {tuning.chunks.target} {tuning.chunks.unit}, and "
            f"this knowledge base has chunks of {settings.chunks.target} {settings.chunks.unit}; "
            "add the documents to a new one: `spanwise add` makes it with --tuning FILE"
        )
