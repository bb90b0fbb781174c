"""Keys of providers: from the environment, else from the keyring of the operating system.

They are kept nowhere and shown nowhere: a key is a `Secret`, whose text must be asked for.
"""

from __future__ import annotations

from spanwise.config.settings import variable
from spanwise.errors import OptionError

KEYRING_SERVICE = "spanwise"
"""Name under which keys lie in the keyring; the name of the variable is the user."""


class Secret:
    """A text that is never shown."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Take the text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def hide_in(self, text: str) -> str:
        """Return a text with "***" wherever the secret stands in it."""
        return text.replace(self._text, "***")

    def __repr__(self) -> str:
        """Return "***"."""
        return "***"


def find_secret(name: str) -> Secret | None:
    """Return the key of that name, such as "OPENAI_API_KEY"; None where there is none.

    The environment counts before the keyring, which is read where the package keyring is
    installed: `keyring set spanwise OPENAI_API_KEY` keeps one.

    Args:
        name: Of the environment variable.

    Raises:
        OptionError: If it holds a character that no key has. Clients would show it in their errors,
            in forms in which it is not found again to be hidden.
    """
    given = variable(name).strip() or _from_keyring(name)
    if not given:
        return None
    at = next((at for at, one in enumerate(given) if not "!" <= one <= "~"), None)
    if at is not None:
        raise OptionError(
            f"{name} holds, as character {at + 1}, one that no key has (a space, a line break, or "
            "none of ASCII); set it again"
        )
    return Secret(given)


def _from_keyring(name: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return ""
    try:
        return (keyring.get_password(KEYRING_SERVICE, name) or "").strip()
    except KeyringError:  # there is none, as on servers, or it is locked: as if there were no key
        return ""
