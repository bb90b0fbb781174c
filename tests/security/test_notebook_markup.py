"""Results in a notebook: texts of documents, questions and models are no markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.testing.models import ScriptedModel

ATTACK = (
    '"\'><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">x</a>'
)
TEXT = f"# Pier {ATTACK}\n\nThe pier is 30 m long. {ATTACK} It was built in 1911.\n"
QUESTION = f"How long is the pier? {ATTACK}"


class Markup(HTMLParser):
    """Collector of elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_no_result_contains_markup_of_others() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(
            TEXT,
            document_id=f"pier{ATTACK}",
            title=f"Pier {ATTACK}",
            metadata={f"field{ATTACK}": ATTACK},
            media_type="text/markdown",
        )
        model = ScriptedModel(capable_answer)
        results: list[Any] = [
            base.search(QUESTION),
            base.search(QUESTION, where=f'title = "{ATTACK.replace(chr(34), "")}"'),
            base.excerpts(QUESTION),
            base.explain(QUESTION),
            base.ask(QUESTION, llm=model),
            base.ask_each(QUESTION, llm=model),
        ]
    for result in results:
        found = Markup(result._repr_html_())
        assert "div" in found.elements
        assert not found.elements & {"script", "img", "a", "iframe", "object", "style", "link"}
        assert not [name for name in found.attributes if name.startswith("on")]
        assert not found.attributes & {"href", "src", "srcdoc", "action"}
