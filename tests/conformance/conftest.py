"""Assertions of the shipped suites explain themselves."""

import pytest

pytest.register_assert_rewrite("spanwise.testing")
