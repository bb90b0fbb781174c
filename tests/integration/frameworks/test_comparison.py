"""The example that does one task in several libraries."""

from __future__ import annotations

from tests.examples import load_example


def test_each_installed_library_returns_texts_within_the_budget() -> None:
    example = load_example("comparison")
    returned = example.main()
    assert {"Spanwise", "LangChain", "LlamaIndex", "Haystack"} <= set(returned)
    for pieces in returned.values():
        assert pieces
        assert all(piece.place for piece in pieces)
        assert sum(len(piece.text) for piece in pieces) <= 4 * example.BUDGET_TOKENS
    text = "\n".join(piece.text for piece in returned["Spanwise"])
    assert all(cause in text for cause in example.EVIDENCE)
