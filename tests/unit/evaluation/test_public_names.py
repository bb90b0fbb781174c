"""What `spanwise.evaluation` offers."""

import pytest

import spanwise.evaluation


def test_every_public_name_loads() -> None:
    """Each name of `__all__` is there, and listed."""
    for name in spanwise.evaluation.__all__:
        assert getattr(spanwise.evaluation, name) is not None
        assert name in dir(spanwise.evaluation)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = spanwise.evaluation.nothing
