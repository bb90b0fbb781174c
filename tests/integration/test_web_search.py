"""Search, sliders, answers and reader of the web page in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import chromium, opened_tab
from tests.explanations import QUESTION, chosen_again, filled_base
from tests.servers.capable import capable_answer
from tests.servers.running import running

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

    from spanwise.models.ports import ModelRequest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
MARGIN = "Why did the margin fall in 2023?"
HOUSE = """# House

The basements were flooded in March, and the doctor of the village lent a boat.

## Garden

The apple trees bear fruit in September.
"""
CARDS = "#results article.segment[data-document]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as base:
        base.add(REPORTS)
        yield base


def requests_of(tab: Tab, path: str) -> list[str]:
    """Return the list that gets the bodies of all further requests to a path."""
    bodies: list[str] = []
    tab.on("request", lambda one: bodies.append(one.post_data or "") if path in one.url else None)
    return bodies


def segments(tab: Tab) -> list[tuple[str, int, int]]:
    """Return the segments that the page shows: document, first chunk, end."""
    cards = tab.eval_on_selector_all(CARDS, "all => all.map(one => ({...one.dataset}))")
    return sorted((card["document"], int(card["first"]), int(card["end"])) for card in cards)


def settle(tab: Tab) -> None:
    """Wait until a change of a slider is drawn."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def wait(tab: Tab, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it did not happen within 10 s"
        tab.wait_for_timeout(20)  # receives events, unlike a sleep


def set_number(tab: Tab, name: str, value: object) -> None:
    field = tab.locator(f"#slider-{name} + input")
    field.fill(str(value))
    field.press("Enter")
    settle(tab)


def test_sliders_select_again_at_once_exactly_and_are_part_of_the_address(
    browser: Browser,
) -> None:
    with filled_base() as base, running(app_of({"mill": base})) as url, opened_tab(browser) as tab:
        explanation = base.explain(QUESTION)
        searches = requests_of(tab, "/v1/explanation")
        tab.goto(f"{url}/#/search?q={QUESTION}")
        tab.wait_for_selector(CARDS)
        assert segments(tab) == sorted(
            (one.document_id, one.first_chunk, one.last_chunk)
            for one in explanation.result.segments
        )
        tab.click("#tuning > summary")
        for name, value in [("price", 0.05), ("charge", 0.004), ("budget", 700)]:
            set_number(tab, name, value)
        assert segments(tab) == chosen_again(explanation, price=0.05, charge=0.004, budget=700)
        assert len(searches) == 1, "a slider that moves causes no request"
        assert "preview" in tab.inner_text("#results")
        wait(tab, lambda: len(searches) == 2)
        wait(tab, lambda: "budget=700" in tab.url)
        wait(tab, lambda: "preview" not in tab.inner_text("#results"))
        options = SegmentOptions(token_price=0.05, segment_charge=0.004)
        found = base.search(QUESTION, budget_tokens=700, segment_options=options)
        expected = sorted(
            (one.document_id, one.first_chunk, one.last_chunk) for one in found.segments
        )
        assert segments(tab) == expected
        address = tab.url
        tab.reload()
        tab.wait_for_selector(CARDS)
        assert segments(tab) == expected
        assert tab.locator("#tuning[open]").count() == 1
        tab.get_by_role("button", name="Reset").click()
        wait(tab, lambda: tab.url != address and len(segments(tab)) != len(expected))
        assert "price" not in tab.url


def test_sliders_move_by_keyboard_without_losing_the_focus(browser: Browser) -> None:
    with filled_base() as base, running(app_of({"mill": base})) as url, opened_tab(browser) as tab:
        tab.goto(f"{url}/#/search?q={QUESTION}")
        tab.wait_for_selector(CARDS)
        before = segments(tab)
        tab.click("#tuning > summary")
        tab.focus("#slider-price")
        for _ in range(40):
            tab.keyboard.press("ArrowRight")
        settle(tab)
        assert segments(tab) != before
        wait(tab, lambda: "price=" in tab.url)
        wait(tab, lambda: "preview" not in tab.inner_text("#results"))
        assert tab.evaluate("document.activeElement.id") == "slider-price"
        set_number(tab, "price", 9)
        assert "Penalty" in tab.inner_text("#results .empty")


def test_words_of_similar_meaning_are_told_apart(browser: Browser) -> None:
    with KnowledgeBase(":memory:") as base, opened_tab(browser) as tab:
        base.add_text(HOUSE, document_id="house.md", media_type="text/markdown")
        with running(app_of({"house": base})) as url:
            tab.goto(f"{url}/#/search?q=Which physician helped when it was flooding?")
            tab.wait_for_selector(CARDS)
            same = tab.locator(".body mark:not(.similar)")
            assert same.all_inner_texts() == ["flooded"]
            similar = tab.locator(".body mark.similar")
            assert similar.all_inner_texts() == ["doctor"]
            assert "physician" in (similar.get_attribute("title") or "")
            assert "doctor for “physician”" in tab.inner_text(".found-by")
            tab.click("text=Open in the document")
            tab.wait_for_selector("#text mark.place mark.similar:text('doctor')")


def test_the_strip_leads_to_chunks_by_pointer_and_keyboard(browser: Browser) -> None:
    with filled_base() as base, running(app_of({"mill": base})) as url, opened_tab(browser) as tab:
        tab.goto(f"{url}/#/search?q={QUESTION}")
        strip = tab.locator(".group .strip").first
        strip.locator("svg .shade").first.wait_for(state="attached")
        strip.hover(position={"x": 3, "y": 20})
        readout = tab.locator(".group .readout").first
        assert readout.inner_text().startswith("Chunk 0 · relevance")
        assert "share" in readout.inner_text()
        strip.focus()
        for _ in range(4):
            tab.keyboard.press("ArrowRight")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("mark.place")
        assert "chunk=" in tab.url
        tab.click("#back")
        tab.wait_for_selector(CARDS)
        assert tab.input_value("#question") == QUESTION


def test_one_or_several_knowledge_bases_are_searched(
    browser: Browser, reports: KnowledgeBase
) -> None:
    with (
        filled_base() as mill,
        running(app_of({"mill": mill, "reports": reports})) as url,
        opened_tab(browser) as tab,
    ):
        tab.goto(url)
        tab.wait_for_selector("#bases label")
        tab.fill("#question", "Why did the gross margin fall?")
        tab.keyboard.press("Enter")
        tab.wait_for_selector(CARDS)
        assert "kb=" not in tab.url, "all are searched"
        assert set(tab.locator(".group .base-name").all_inner_texts()) == {"mill", "reports"}
        several = tab.url
        tab.uncheck("#bases input[value=mill]")
        wait(tab, lambda: "kb=reports" in tab.url)
        assert "kb=mill" not in tab.url
        wait(tab, lambda: tab.locator(".group .base-name").count() == 0)
        tab.go_back()
        wait(tab, lambda: tab.locator(".group .base-name").count() > 0)
        assert tab.is_checked("#bases input[value=mill]")
        tab.locator(".segment:has-text('23.1 per cent') a").first.click()
        tab.wait_for_selector("mark.place:has-text('23.1 per cent')")
        assert "kb=reports" in tab.url
        tab.click("#back")
        tab.wait_for_selector(CARDS)
        assert tab.url == several


def test_a_link_to_an_unknown_knowledge_base_too_searches_the_known_ones(
    browser: Browser, reports: KnowledgeBase
) -> None:
    with running(app_of({"reports": reports})) as url, opened_tab(browser) as tab:
        tab.goto(f"{url}/#/search?kb=reports&kb=secret&q={MARGIN}")
        tab.wait_for_selector(CARDS)
        assert "secret" in tab.inner_text("#left-out")
        tab.goto(f"{url}/#/search?kb=reports&q={MARGIN}")
        tab.wait_for_selector("#left-out", state="hidden")


def test_the_saved_explanation_is_that_of_the_search(
    browser: Browser, reports: KnowledgeBase
) -> None:
    with running(app_of({"reports": reports})) as url, opened_tab(browser) as tab:
        saves = requests_of(tab, "/v1/explanation")
        name = "annual-report-2022.md"
        tab.goto(f"{url}/#/search?q={MARGIN}&document={name}&preset=precise")
        tab.wait_for_selector(CARDS)
        tab.click("#tuning > summary")
        set_number(tab, "budget", 300)
        wait(tab, lambda: "budget=300" in tab.url and len(saves) == 2)
        wait(tab, lambda: "preview" not in tab.inner_text("#results"))
        with tab.expect_download() as saved:
            tab.get_by_role("button", name="Save the explanation").click()
        assert saves[2] == saves[1]
        page = Path(saved.value.path()).read_text("utf-8")
        assert name in page
        assert "annual-report-2023.md" not in page


def test_an_answer_has_links_to_its_quotes_and_meanings_of_its_marks(
    browser: Browser, reports: KnowledgeBase
) -> None:
    model = ScriptedModel(capable_answer)
    with running(app_of({"reports": reports}, llm=model)) as url, opened_tab(browser) as tab:
        tab.goto(url)
        tab.fill("#question", MARGIN)
        tab.click("#ask")
        tab.wait_for_selector(".answer .quotes")
        assert "answer=model" in tab.url
        tab.wait_for_selector(CARDS)
        tab.locator(".answer .body a.cite").first.click()
        tab.wait_for_selector("mark.place")
        quote = "Gross margin fell to 23.1 per cent, from 27.4 per cent in 2022."
        assert tab.inner_text("mark.place") == quote
        tab.go_back()
        tab.wait_for_selector(".answer .quotes")
        tab.fill("#question", "By how many percentage points did the margin fall?")
        tab.click("#ask")
        tab.wait_for_selector(".answer .doubt")
        assert "before this mark" in tab.inner_text(".answer .doubts")
        assert "before this mark" in (
            tab.locator(".answer .body .doubt").first.get_attribute("title") or ""
        )


def test_each_document_is_asked_after_an_estimate(browser: Browser, reports: KnowledgeBase) -> None:
    model = ScriptedModel(capable_answer)
    with running(app_of({"reports": reports}, llm=model)) as url, opened_tab(browser) as tab:
        reads = requests_of(tab, "/v1/ask-each")
        tab.goto(f"{url}/#/search?q={MARGIN}&answer=each")
        tab.wait_for_selector("#each-start")
        assert "4 documents" in tab.inner_text(".answer")
        assert len(reads) == 1
        tab.click("#each-start")
        tab.wait_for_selector(".answer [data-verdict=yes] .cite")
        assert len(reads) == 2
        tab.locator(".answer .cite").first.click()
        tab.wait_for_selector("mark.place")


def test_a_link_calls_no_model_before_a_click(browser: Browser, reports: KnowledgeBase) -> None:
    """Links come from other sites and messages too, and a call may cost money."""
    model = ScriptedModel(capable_answer)
    question = "Why did the gross margin fall in the year 2023?"  # no other test asks it
    with running(app_of({"reports": reports}, llm=model)) as url, opened_tab(browser) as tab:
        for kind, button in (("model", "#answer-start"), ("each", "#each-start")):
            tab.goto(f"{url}/#/search?q={question}&answer={kind}")
            tab.wait_for_selector(button)
            tab.wait_for_selector(CARDS)
            assert model.requests == []
        tab.go_back()
        tab.click("#answer-start")
        tab.wait_for_selector(".answer .quotes")
        assert model.requests


def test_an_answer_is_stopped(browser: Browser, reports: KnowledgeBase) -> None:
    def slow(request: ModelRequest) -> str:
        time.sleep(2)
        return capable_answer(request)

    app = app_of({"reports": reports}, llm=ScriptedModel(slow))
    with running(app) as url, opened_tab(browser) as tab:
        tab.goto(f"{url}/#/search?q=When does the supply agreement end?&answer=model")
        tab.click("#answer-start")
        tab.click(".answer .stop")
        tab.wait_for_selector(".answer:has-text('Stopped.')")
        assert tab.locator(".answer .stop").count() == 0


def test_states_without_a_model_or_result_and_errors_say_what_to_do(
    browser: Browser, reports: KnowledgeBase
) -> None:
    with running(app_of({"reports": reports})) as url, opened_tab(browser, allowed="") as tab:
        tab.goto(f"{url}/#/search?q={MARGIN}&answer=model")
        tab.wait_for_selector("#answer:has-text('--llm')")
        tab.wait_for_selector(CARDS)
        tab.goto(f"{url}/#/search?q={MARGIN}&where=colour = 1")
        tab.wait_for_selector("#problem:has-text('colour')")
        assert "colour" in tab.inner_text("#problem")
        tab.goto(f"{url}/#/search?kb=gone&q={MARGIN}")
        tab.wait_for_selector("#problem:has-text('reports')")
        tab.goto(f'{url}/#/search?q="no such phrase at all"')
        tab.wait_for_selector("#results .empty")


def test_everything_works_with_a_key(
    browser: Browser, reports: KnowledgeBase, tmp_path: Path
) -> None:
    key = add_key(tmp_path / "keys.json", "page", role="read")
    app = app_of({"reports": reports}, keys=KeyRing(read_keys(tmp_path / "keys.json")))
    with running(app) as url, opened_tab(browser, allowed="") as tab:
        tab.goto(f"{url}/#/search?q={MARGIN}")
        tab.fill("dialog input", key)
        tab.click("#dialog-yes")
        tab.wait_for_selector(CARDS)
        with tab.expect_download() as saved:
            tab.get_by_role("button", name="Save the explanation").click()
        page = Path(saved.value.path())
        tab.goto(page.rename(tmp_path / "explanation.html").as_uri())
        tab.wait_for_selector("#segments > li")


def test_a_long_text_shows_that_it_continues(browser: Browser, reports: KnowledgeBase) -> None:
    with running(app_of({"reports": reports})) as url, opened_tab(browser, width=390) as tab:
        tab.goto(f"{url}/#/search?q={MARGIN}")
        tab.wait_for_selector(".more-below, .more-above")
        body = tab.locator(".segment .body").first
        short = body.evaluate("body => body.clientHeight")
        tab.get_by_role("button", name="Show all").first.click()
        assert body.evaluate("body => body.clientHeight") > short
        assert tab.locator(".group .more-below").count() == 0
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        tab.click("#tuning > summary")
        assert tab.evaluate(wide) <= 0


def test_a_question_for_documents_lists_them_with_their_places(
    browser: Browser, reports: KnowledgeBase
) -> None:
    with running(app_of({"reports": reports})) as url, opened_tab(browser) as tab:
        tab.goto(f"{url}/#/search?q=Which reports mention the gross margin?")
        tab.wait_for_selector("section.places li")
        expected = reports.search("Which reports mention the gross margin?")
        assert expected.documents is not None
        title = tab.inner_text("#places-title")
        assert title.startswith(f"Evidence in {expected.documents.found} of ")
        assert tab.locator("section.places li").count() == expected.documents.shown
        tab.locator("section.places a").first.click()
        tab.wait_for_selector("mark.place")
        tab.goto(f"{url}/#/search?q={MARGIN}")
        tab.wait_for_selector(CARDS)
        assert tab.locator("section.places").count() == 0
