"""From a name to an embedder."""

from importlib.metadata import EntryPoints, entry_points
from types import SimpleNamespace

import pytest

from spanwise.errors import OptionError
from spanwise.models.providers.wordllama import find_wordllama
from spanwise.models.registry import default_embedder_name, make_embedder
from spanwise.options import ModelOptions


def test_the_default_embedder_is_there_where_its_package_is() -> None:
    assert (default_embedder_name() is None) == (find_wordllama() is None)


@pytest.mark.skipif(find_wordllama() is None, reason="wordllama has no wheel for this platform")
def test_an_embedder_is_made_by_vendor_and_model() -> None:
    assert make_embedder("wordllama").name == "wordllama:l2-supercat-256"
    assert make_embedder("wordllama:l2-supercat-256").dimension == 256


def test_an_unknown_vendor_names_those_there_are() -> None:
    with pytest.raises(OptionError, match=r"known: .*wordllama"):
        make_embedder("oracle:9")


@pytest.mark.parametrize("found", [[], [SimpleNamespace(entry_points=EntryPoints())]])
def test_where_none_is_registered_it_says_what_to_do(
    found: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that was made before its entry points, or whose metadata is lost."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: found)
    with pytest.raises(OptionError, match="none is registered: install spanwise again"):
        make_embedder("minilm")


@pytest.mark.skipif(find_wordllama() is None, reason="wordllama has no wheel for this platform")
def test_the_default_embedder_is_that_of_its_entry_point() -> None:
    """It is made without reading the entry points, which takes longer than a search."""
    (entry,) = entry_points(group="spanwise.embedders", name="wordllama")
    assert entry.load()("wordllama", ModelOptions()).name == make_embedder("wordllama").name


def test_the_default_embedder_has_no_address_with_a_secret() -> None:
    with pytest.raises(OptionError, match="holds a user, a password") as raised:
        make_embedder("wordllama:x@http://me:secret@host")
    assert "secret" not in str(raised.value)
