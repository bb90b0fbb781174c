"""API keys of model providers, from the environment or the keyring of the operating system.

Keys are never stored or displayed: `Secret` hides its text until `reveal` is called.
"""

from __future__ import annotations

from spanwise.config.settings import variable
from spanwise.errors import OptionError

KEYRING_SERVICE = "spanwise"
"""Service name of the keys in the keyring; the user name is the name of the variable."""


class Secret:
    """Text whose `repr` is "***"."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Wrap a text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def hide_in(self, text: str) -> str:
        """Return a text with each occurrence of the secret replaced by "***"."""
        return text.replace(self._text, "***")

    def __repr__(self) -> str:
        """Return "***"."""
        return "***"


def find_secret(name: str) -> Secret | None:
    """Return an API key; None if it is not set.

    The environment takes precedence over the keyring, which is read if the package `keyring` is
    installed: `keyring set spanwise OPENAI_API_KEY` stores a key there.

    Args:
        name: Name of the environment variable, such as "OPENAI_API_KEY".

    Raises:
        OptionError: If the key contains a space, a control character or non-ASCII text. HTTP
            clients would show such a key in error messages in an escaped form, which `hide_in`
            does not find.
    """
    key = variable(name).strip() or _from_keyring(name)
    if not key:
        return None
    invalid = (number for number, character in enumerate(key, 1) if not "!" <= character <= "~")
    position = next(invalid, None)
    if position is not None:
        raise OptionError(
            f"character {position} of {name} is not valid in a key (it is a space, a line break or "
            "no ASCII character); set the key again"
        )
    return Secret(key)


def _from_keyring(name: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return ""
    try:
        return (keyring.get_password(KEYRING_SERVICE, name) or "").strip()
    except KeyringError:  # no keyring, as on servers, or a locked one: treated as no key
        return ""
