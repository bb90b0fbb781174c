"""All fuzzing targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.document_targets import document_targets
from tests.fuzz.request_targets import request_targets
from tests.fuzz.store_targets import store_targets
from tests.fuzz.target import Target
from tests.fuzz.text_targets import text_targets

__all__ = ["all_targets"]


def all_targets() -> Mapping[str, Target]:
    """Return the targets by name."""
    groups = (document_targets(), text_targets(), request_targets(), store_targets())
    return {target.name: target for group in groups for target in group}
