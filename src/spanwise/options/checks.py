"""How options are checked when they are made."""

from __future__ import annotations

from spanwise.errors import OptionError
from spanwise.types.plain import shown


def check(condition: object, name: str, value: object, wanted: str) -> None:
    """Refuse a value.

    Raises:
        OptionError: If the condition does not hold.
    """
    if not condition:
        raise OptionError(f"{name} is {shown(value)}; it must be {wanted}")
