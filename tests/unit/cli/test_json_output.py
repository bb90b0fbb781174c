from __future__ import annotations

import io
import json
from types import MappingProxyType

import pytest

from spanwise.cli.failures import ExitCode, Failure
from spanwise.cli.output import failure_document, write_json
from spanwise.types import IngestFailure, IngestReport
from spanwise.types.plain import to_plain


def test_types_become_objects_with_their_own_field_names() -> None:
    failure = IngestFailure(source="a", code="empty", message="m")
    plain = to_plain({"report": IngestReport(added=("b",), failed=(failure,))})
    assert plain == {
        "report": {
            "added": ["b"],
            "replaced": [],
            "updated": [],
            "unchanged": [],
            "removed": [],
            "failed": [{"source": "a", "code": "empty", "message": "m"}],
            "warnings": [],
            "partial": [],
            "needs_ocr": [],
            "chunks": 0,
            "embedded_chunks": 0,
            "kept_vectors": 0,
            "chars": 0,
            "seconds": 0.0,
            "usage": {
                "calls": 0,
                "repeated_calls": 0,
                "cached_calls": 0,
                "retries": 0,
                "input_tokens": 0,
                "output_tokens": 0,
                "cached_input_tokens": 0,
                "cost": 0.0,
                "seconds": 0.0,
            },
            "usage_by_task": {},
        }
    }


def test_read_only_mappings_become_objects() -> None:
    assert to_plain(MappingProxyType({"a": (1, None, True)})) == {"a": [1, None, True]}


def test_values_that_json_cannot_represent_are_refused() -> None:
    with pytest.raises(TypeError, match="JSON"):
        to_plain(object())
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(float("nan"), io.StringIO())


@pytest.mark.parametrize(("encoding", "is_escaped"), [("utf-8", False), ("latin-1", True)])
def test_texts_are_escaped_only_where_the_stream_cannot_hold_them(
    encoding: str, is_escaped: bool
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    write_json({"text": "Größe 語"}, stream)
    stream.seek(0)
    written = stream.read()
    assert ("\\u8a9e" in written) is is_escaped
    assert json.loads(written) == {"text": "Größe 語"}


def test_an_error_is_one_object_under_error() -> None:
    failure = Failure(code="parse", message="m", exit_code=ExitCode.ERROR, details={"source": "a"})
    assert failure_document(failure) == {"error": {"code": "parse", "message": "m", "source": "a"}}
