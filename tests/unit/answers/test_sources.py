"""What of a search can be quoted."""

from spanwise import KnowledgeBase
from spanwise.answers.sources import found_of
from spanwise.answers.statements import Citer, Composer
from spanwise.core.answers.drafts import GivenQuote, Statement
from spanwise.stores.memory import MemoryStore

TEXT = "\n\n".join(
    f"Paragraph {number} speaks of the harbour of Altby and of its cranes." for number in range(40)
)


def test_every_run_is_stored_text_at_its_place() -> None:
    with KnowledgeBase(":memory:", embedder=None) as kb:
        kb.add_text(TEXT, document_id="a")
        question = "What does paragraph 7 say of the cranes?"
        for result in (
            kb.search(question, budget_tokens=200),
            kb.excerpts(question, excerpts=2, excerpt_tokens=200),
        ):
            found = found_of(result)
            assert found.sources
            for source in found.sources:
                assert source.runs
                for run in source.runs:
                    assert TEXT[run.start : run.start + len(run.text)] == run.text
                ends = [run.start + len(run.text) for run in source.runs]
                starts = [run.start for run in source.runs]
                assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


def test_headers_cannot_be_quoted() -> None:
    with KnowledgeBase(":memory:", embedder=None) as kb:
        kb.add_text("# Cranes\n\nThey lift boats.", document_id="a", title="Altby Harbour Company")
        found = found_of(kb.search("What do the cranes of Altby lift?"))
    composer = Composer(found.sources, citer=Citer(MemoryStore()))
    quote = GivenQuote(quote="Altby Harbour Company", source=0)
    assert composer.add(Statement(text="x", quotes=(quote,))) == "x [1?]"
    assert "Altby Harbour Company" in found.context
