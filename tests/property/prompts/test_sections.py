"""Laws of the sections that a model makes of a document."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.texts import DOCUMENTS

from spanwise.core.text.languages import document_language
from spanwise.errors import ModelError
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.models.prompts.sections import make_sections
from spanwise.options import ContextOptions, SectionOptions
from spanwise.packs.known_kinds import document_headings, document_title, split_sections
from spanwise.testing.models import ScriptedModel
from spanwise.types import Document

LIMITS = st.sampled_from(
    [
        SectionOptions(),
        SectionOptions(min_chars=1, max_chars=2),
        SectionOptions(min_chars=20, max_chars=60),
    ]
)
GOOD = st.lists(
    st.fixed_dictionaries(
        {"first_line": st.integers(-2, 30), "title": st.text(max_size=12) | st.just("Fees")}
    ),
    max_size=8,
).map(lambda sections: json.dumps({"sections": sections}))
REPLIES = st.lists(
    GOOD
    | st.sampled_from(
        ["", "{", "[]", '{"sections": 3}', '{"sections": []}', "I'm sorry.", "FAIL",
         '{"sections": [{"first_line": 1, "title": "I cannot help with that"}]}']
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


def count(texts: Sequence[str]) -> list[int]:
    return [20 * len(text) for text in texts]  # so that short texts have several windows


@given(DOCUMENTS, LIMITS, REPLIES)
def test_whatever_a_model_answers_the_sections_partition_the_text(
    document: Document, limits: SectionOptions, replies: list[str]
) -> None:
    """None is empty, each bears its title last; and where nothing was usable, it is said."""
    at = 0

    def answer(request: ModelRequest) -> str:
        nonlocal at
        at += 1
        reply = replies[at % len(replies)]
        if reply == "FAIL":
            raise ModelError("it is down", provider="scripted", model="model")
        return reply

    fallback = split_sections(document, options=limits)
    made = make_sections(
        document,
        title=document_title(document),
        headings=document_headings(document),
        context=PromptContext(
            caller=ModelCaller(model=ScriptedModel(answer, concurrency=1)),
            options=ContextOptions(window_tokens=200),
            language=document_language(document.text, metadata=document.metadata),
            count_tokens=count,
        ),
        limits=limits,
        fallback=fallback,
    )
    text = document.text
    assert "".join(text[part.start : part.end] for part in made.sections) == text
    place = 0
    for section in made.sections:
        assert section.start == place
        assert section.end > section.start
        assert section.path[-1:] == (section.title,)
        assert len(section.title) <= 120
        assert len(section.title.splitlines()) <= 1
        place = section.end
    if all(reply in ("", "{", "[]", "FAIL") for reply in replies):
        assert made.sections == fallback
        assert bool(made.warnings) == bool(text.strip())
