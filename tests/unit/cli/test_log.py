from __future__ import annotations

import logging

import pytest

from spanwise.cli.program import logged_warnings


def test_warnings_of_the_library_are_lines_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("spanwise")
    before = list(logger.handlers)
    with logged_warnings():
        logger.warning("the index of %s\ncannot be written", "a.kb")
        logger.info("not output")
    assert capsys.readouterr() == ("", "warning: the index of a.kb cannot be written\n")
    assert logger.handlers == before
