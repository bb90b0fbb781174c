"""Outputs of models that are kept in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from spanwise.ports import OutputCache

__all__ = ["MemoryOutputs"]


@dataclass(slots=True, kw_only=True)
class MemoryOutputs:
    """An `OutputCache` that lasts as long as itself."""

    beneath: OutputCache | None = None
    """Read where nothing is found here; never written."""
    _outputs: dict[str, str] = field(default_factory=dict)

    def get_output(self, key: str) -> str | None:
        """Return what was kept under a key, or None."""
        output = self._outputs.get(key)
        if output is None and self.beneath is not None:
            return self.beneath.get_output(key)
        return output

    def put_output(self, key: str, output: str, *, task: str, model: str) -> None:
        """Keep an output; the first one under a key stays."""
        del task, model  # kept for people who look into a store
        self._outputs.setdefault(key, output)
