"""Graded answers of several sets of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.grades import labelled

from spanwise.cli.commands.eval import EvaluationSet, judged_sets
from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Dataset
from spanwise.models.ledger import Ledger


def test_no_set_is_paid_for_where_another_cannot_be_graded() -> None:
    """There is no knowledge base to ask: nothing may be asked before all sets are looked at."""
    sets = [
        EvaluationSet(
            dataset=Dataset(name=name, questions=(labelled(answer=answer),)),
            base=cast("Any", None),
            path=Path("none.kb"),
        )
        for name, answer in (("known", "90 metres"), ("places", ""))
    ]
    with pytest.raises(OptionError, match="none of the 1 questions of places has an answer"):
        judged_sets(sets, cast("Any", {}), methods=(), budget=Ledger(), draw=lambda *_: None)
