"""Checks of what a caller gives: metadata."""

import pytest

from spanwise.errors import OptionError
from spanwise.knowledge_base.checks import checked_metadata
from spanwise.types import Scalar


def test_metadata_of_each_kind_is_kept() -> None:
    given: dict[str, Scalar] = {
        "name": "Ünïcode \U0001f600",
        "year": 2018,
        "share": 0.5,
        "audited": True,
    }
    assert checked_metadata(given) == given
    assert checked_metadata(None) == {}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"ab\ud800": 1}, r"name of metadata field 'ab\\ud800' has a lone surrogate at .* 2;"),
        ({"a": "b\udfff"}, r"metadata field 'a' has a lone surrogate at character 1; decode"),
        ({"": 1}, "is named ''"),
        ({"a": float("nan")}, "finite"),
    ],
)
def test_metadata_that_cannot_be_stored_is_refused(metadata: dict[str, Scalar], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        checked_metadata(metadata)
