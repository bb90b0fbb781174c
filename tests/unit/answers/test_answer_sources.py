"""What of a search can be quoted."""

from spanwise import KnowledgeBase
from spanwise.answers.answer_sources import sources_of
from spanwise.answers.composer import Citer, Composer
from spanwise.core.answers.drafts import GivenQuote, Statement

TEXT = "\n\n".join(
    f"Paragraph {number} speaks of the harbour of Altby and of its cranes." for number in range(40)
)


def test_every_span_is_stored_text_at_its_offset() -> None:
    with KnowledgeBase(":memory:", embedder=None) as kb:
        kb.add_text(TEXT, document_id="a")
        question = "What does paragraph 7 say of the cranes?"
        for result in (
            kb.search(question, budget_tokens=200),
            kb.excerpts(question, excerpts=2, excerpt_tokens=200),
        ):
            found = sources_of(result)
            assert found.sources
            for source in found.sources:
                assert source.spans
                for span in source.spans:
                    assert TEXT[span.start : span.start + len(span.text)] == span.text
                ends = [span.start + len(span.text) for span in source.spans]
                starts = [span.start for span in source.spans]
                assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


def test_headers_cannot_be_quoted() -> None:
    with KnowledgeBase(":memory:", embedder=None) as kb:
        kb.add_text("# Cranes\n\nThey lift boats.", document_id="a", title="Altby Harbour Company")
        found = sources_of(kb.search("What do the cranes of Altby lift?"))
    composer = Composer(found.sources, citer=Citer(lambda _: None))
    quote = GivenQuote(quote="Altby Harbour Company", source=0)
    assert composer.add(Statement(text="x", quotes=(quote,))) == "x [1?]"
    assert "Altby Harbour Company" in found.context
