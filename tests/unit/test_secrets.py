"""Keys are found, and never shown."""

from __future__ import annotations

import pytest

from spanwise.config import Secret, find_secret
from spanwise.errors import OptionError

NAME = "SPANWISE_TEST_API_KEY"


def in_keyring(monkeypatch: pytest.MonkeyPatch, found: object) -> list[tuple[str, str]]:
    """Let the keyring answer, and return what it was asked."""
    asked: list[tuple[str, str]] = []

    def get_password(service: str, name: str) -> object:
        asked.append((service, name))
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("keyring.get_password", get_password)
    return asked


def test_a_secret_is_never_shown() -> None:
    secret = Secret("hunter2")
    assert f"{secret} {secret!r} {[secret]}" == "*** *** [***]"
    assert secret.reveal() == "hunter2"
    assert secret.hide_in("the key hunter2 is wrong") == "the key *** is wrong"


def test_the_environment_counts_before_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = in_keyring(monkeypatch, "from the keyring")
    monkeypatch.setenv(NAME, " from-the-environment\n")
    found = find_secret(NAME)
    assert found is not None
    assert found.reveal() == "from-the-environment"
    assert asked == []


@pytest.mark.parametrize("given", ["sk-1\n23", "sk-1 23", "sk-1\u202623", "sk-1\x7f23"])
def test_what_is_no_key_is_refused_and_not_shown(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the second line of a paste: a client would show it, and take it for another header."""
    monkeypatch.setenv(NAME, given)
    with pytest.raises(OptionError, match=f"character 5 of {NAME}") as caught:
        find_secret(NAME)
    assert "sk-1" not in str(caught.value)


def test_the_keyring_counts_where_the_environment_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = in_keyring(monkeypatch, "from-the-keyring")
    monkeypatch.setenv(NAME, "")
    found = find_secret(NAME)
    assert found is not None
    assert found.reveal() == "from-the-keyring"
    assert asked == [("spanwise", NAME)]


@pytest.mark.parametrize("kept", [None, "", " "])
def test_there_may_be_none(kept: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    in_keyring(monkeypatch, kept)
    monkeypatch.delenv(NAME, raising=False)
    assert find_secret(NAME) is None


def test_a_keyring_that_is_locked_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.errors import KeyringLocked

    in_keyring(monkeypatch, KeyringLocked("locked"))
    monkeypatch.delenv(NAME, raising=False)
    assert find_secret(NAME) is None


def test_keyring_need_not_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.delenv(NAME, raising=False)
    assert find_secret(NAME) is None
