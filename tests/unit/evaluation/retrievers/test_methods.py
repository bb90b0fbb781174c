"""Names of methods."""

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.retrievers.methods import ADDITIONS, METHODS, is_method_name, read_method
from spanwise.options import METHOD_PRESETS


def test_each_name_reads_as_itself() -> None:
    """A method with all that can be added has one name, whatever the order it is written in."""
    names = [f"{way}{added}" for way in METHODS for added in ("", "+headers", "+headers+rerank")]
    names += [f"{way}:{preset}" for way, presets in METHOD_PRESETS.items() for preset in presets]
    assert [read_method(name).name for name in names] == names
    assert read_method("exact:precise+rerank+headers").name == "exact:precise+headers+rerank"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exakt", "did you mean 'exact'"),
        ("exact+header", "did you mean 'headers'"),
        ("exact:precize", "did you mean 'precise'"),
        ("exact:", "one of precise, balanced"),
        ("bm25:precise", "'bm25' has no presets"),
        ("greedy+tuned", "a tuning file only affects"),
        ("", "one of bm25"),
    ],
)
def test_wrong_names_are_refused_with_what_was_meant(name: str, words: str) -> None:
    """A name that means nothing is refused, and the nearest one is named."""
    with pytest.raises(OptionError, match=words):
        read_method(name)


def test_names_of_methods_are_told_from_names_of_functions() -> None:
    """A method with a preset is no module with a function."""
    assert is_method_name("exact:precise")
    assert is_method_name("top-k+headers")
    assert not is_method_name("mymodule:search")


def test_all_has_words_for_people() -> None:
    """Each method and each addition says what it is."""
    assert all(words.strip() for words in (*METHODS.values(), *ADDITIONS.values()))
