"""Search queries that a language model wrote for a question."""

from __future__ import annotations

from dataclasses import dataclass, field

from spanwise.types.plain import PlainForm
from spanwise.types.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenQueries(PlainForm):
    """Search queries and metadata filter that a language model wrote for a question."""

    question: str
    """Question as the caller gave it."""
    standalone: str
    """Question rewritten so that it can be understood without the conversation before it; equal to
    `question` if there is no conversation."""
    more_queries: tuple[str, ...]
    """Additional queries, at most six, none equal to the question; empty if none were written."""
    where: str = ""
    """Metadata filter of the caller and the model together, in text form; empty for none."""
    model_filter: str = ""
    """Part of the filter that the model wrote, in text form; empty for none. If it leaves no
    evidence, a search drops its conditions one at a time, with a warning."""
    warnings: tuple[str, ...] = ()
    """Human-readable messages about queries or filters that could not be used."""
    usage: Usage = field(default_factory=Usage)
    """Model calls, tokens and cost of writing the queries."""
