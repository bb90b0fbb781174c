"""How the methods compare over all questions, in sentences; what holds for all said once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.evaluation.report.summary import ALL

if TYPE_CHECKING:
    from spanwise.evaluation.report.summary import Summary
    from spanwise.plain import Plain

__all__ = ["Sentence", "Sentences", "sentences_of"]

_PARTS = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One comparison."""

    budget_tokens: int
    retriever: str
    main: str
    """Which is better by how much, or that it cannot be told."""
    reservations: tuple[str, ...]
    """What it rests on, or what would be needed."""
    holds: bool
    """Whether one is better than the other, all comparisons counted."""

    @property
    def whole(self) -> str:
        """Return it with its reservations."""
        return f"{_PARTS.join((self.main, *self.reservations))}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """All comparisons."""

    said: tuple[Sentence, ...]
    """By budget, then in the order of the methods."""
    common: tuple[str, ...]
    """Reservations that are those of each one; they stand in none of `said`."""

    def plain(self) -> dict[str, Plain]:
        """Return it for the page."""
        return {
            "said": [
                {
                    "budget": one.budget_tokens,
                    "main": one.main,
                    "reservations": list(one.reservations),
                    "holds": one.holds,
                }
                for one in self.said
            ],
            "common": list(self.common),
        }


def sentences_of(summary: Summary) -> Sentences:
    """Return how each method compares with the first, over all questions."""
    said = []
    for budget in summary.evaluation.budgets:
        for name in summary.evaluation.retrievers:
            found = summary.comparisons.get((ALL, name, budget))
            if found is None:
                continue
            main, *reservations = found.sentence.split(_PARTS)
            said.append(
                Sentence(
                    budget_tokens=budget,
                    retriever=name,
                    main=main,
                    reservations=tuple(reservations),
                    holds=found.holds_among_all,
                )
            )
    common: tuple[str, ...] = ()
    if len(said) > 1:
        common = tuple(
            one for one in said[0].reservations if all(one in other.reservations for other in said)
        )
    return Sentences(
        said=tuple(
            replace(one, reservations=tuple(two for two in one.reservations if two not in common))
            for one in said
        ),
        common=common,
    )
