from __future__ import annotations

import click
import pytest

from spanwise import errors
from spanwise.cli.failures import ExitCode, Interrupted, describe_failure
from spanwise.errors import (
    DocumentNotFoundError,
    EmbedderMismatchError,
    FilterError,
    OptionError,
    ParseError,
    StoreBusyError,
    error_code,
)
from spanwise.parsers.containers import ContainerError


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (OptionError("x"), "option", ExitCode.USAGE),
        (FilterError("x"), "filter", ExitCode.USAGE),
        (DocumentNotFoundError("x"), "document_not_found", ExitCode.NOTHING_FOUND),
        (EmbedderMismatchError("x"), "embedder_mismatch", ExitCode.ERROR),
        (StoreBusyError("x"), "store_busy", ExitCode.ERROR),
        (click.UsageError("x"), "usage", ExitCode.USAGE),
        (Interrupted("x"), "interrupted", ExitCode.INTERRUPTED),
        (OSError("x"), "system", ExitCode.ERROR),
    ],
)
def test_each_error_has_a_code_and_an_exit_code(
    error: BaseException, code: str, exit_code: ExitCode
) -> None:
    failure = describe_failure(error)
    assert (failure.code, failure.message, failure.exit_code) == (code, "x", exit_code)


def test_a_document_error_has_source_and_cause() -> None:
    failure = describe_failure(ParseError("x", source="a.pdf", code="encrypted"))
    assert (failure.code, failure.details) == ("parse", {"source": "a.pdf", "cause": "encrypted"})


def test_an_interruption_that_was_wrapped_is_one() -> None:
    """So Python 3.11 does where it comes while a class is made."""
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()
    failure = describe_failure(error)
    assert (failure.message, failure.exit_code) == ("interrupted", ExitCode.INTERRUPTED)


def test_an_internal_error_explains_how_to_see_the_traceback() -> None:
    failure = describe_failure(ZeroDivisionError("division by zero"))
    assert failure.code == "internal"
    assert "ZeroDivisionError: division by zero" in failure.message
    assert "SPANWISE_TRACEBACK=1" in failure.message


def test_running_out_of_memory_is_not_an_internal_error() -> None:
    failure = describe_failure(MemoryError())
    assert (failure.code, failure.exit_code) == ("memory", ExitCode.ERROR)
    assert "memory ran out" in failure.message


def test_ctrl_c_without_a_message_has_one() -> None:
    assert describe_failure(KeyboardInterrupt()).message == "interrupted"


def test_codes_of_all_errors_differ() -> None:
    found = [getattr(errors, name) for name in errors.__all__]
    kinds = [kind for kind in found if isinstance(kind, type)]
    assert len(kinds) > 10
    assert len({error_code(kind) for kind in kinds}) == len(kinds)


def test_error_of_one_module_has_the_code_of_its_kind() -> None:
    assert error_code(ContainerError) == "parse"
