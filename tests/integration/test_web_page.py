"""The web page of the server in a real browser, with real documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from tests.browser import chromium, opened_tab, shade, unnamed_controls
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel

if TYPE_CHECKING:
    from fastapi import FastAPI
    from playwright.sync_api import Browser, Route
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the margin fall in 2023?"
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
MAX_BYTES = 250_000


class Running:
    """A server on a thread of this process."""

    def __init__(self, app: FastAPI) -> None:
        """Start the server at a free port."""
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "reports.kb") as made:
        made.add(REPORTS)
        made.add_text(
            f"# Hostile {HOSTILE}\n\n## {HOSTILE}\n\nThe pier of hostility is 30 m long. {HOSTILE}",
            document_id=f"hostile{HOSTILE.replace('/', '')}.md",
            media_type="text/markdown",
        )
        yield made


@pytest.fixture
def url(base: KnowledgeBase) -> Iterator[str]:
    server = Running(app_of({"reports": base}, llm=ScriptedModel(capable_answer)))
    yield server.url
    server.stop()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Browser tab; a test fails if it reports an error."""
    with opened_tab(browser) as page:
        yield page


def wait(tab: Tab, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it did not happen within 10 s"
        tab.wait_for_timeout(20)  # receives events, unlike a sleep


def search(tab: Tab, url: str, question: str = QUESTION) -> None:
    tab.goto(url)
    tab.wait_for_selector("#base option", state="attached")
    tab.fill("#question", question)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("article.segment")


def test_a_question_is_answered_with_places(tab: Tab, url: str) -> None:
    search(tab, url)
    assert "Gross margin fell to 23.1 per cent" in tab.inner_text("#results")
    assert "margin" in {one.lower() for one in tab.locator("mark").all_inner_texts()}
    tab.wait_for_selector(".strip svg")
    address = tab.url
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    assert "Gross margin fell to 23.1 per cent" in tab.inner_text("mark.place")
    assert tab.locator("#outline [aria-current]").count() >= 1
    tab.goto(address)
    tab.wait_for_selector("article.segment")
    assert tab.input_value("#question") == QUESTION


def test_a_long_segment_shows_its_best_place(tab: Tab, url: str) -> None:
    search(tab, url)
    body = tab.locator("article.segment .body").first
    assert body.evaluate("body => body.scrollHeight > body.clientHeight")
    assert body.evaluate(
        """body => {
          const frame = body.getBoundingClientRect();
          return [...body.querySelectorAll("mark")].some((mark) => {
            const place = mark.getBoundingClientRect();
            const isShown = place.top >= frame.top && place.bottom <= frame.bottom;
            return isShown && mark.textContent === "margin";
          });
        }"""
    )


def test_a_long_place_is_shown_from_its_start(tab: Tab, url: str, base: KnowledgeBase) -> None:
    length = base.record("annual-report-2023.md").chars
    tab.set_viewport_size({"width": 500, "height": 400})
    tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2023.md&at=100-{length}")
    tab.wait_for_selector("mark.place")
    top = "mark => mark.getBoundingClientRect().top"
    for _ in range(100):  # the page scrolls smoothly
        if abs(tab.locator("mark.place").evaluate(top)) < 40:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the start of the place is not at the top")


def test_an_unknown_document_does_not_leave_another_one_on_the_page(
    browser: Browser, url: str
) -> None:
    with opened_tab(browser, allowed="status of 404") as tab:
        tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2023.md")
        tab.wait_for_selector("#outline a")
        for place in ("kb=reports&id=nope", "kb=nope&id=annual-report-2023.md"):
            tab.goto(f"{url}/#/read?{place}")
            tab.wait_for_selector("#problem:has-text('nope')")
            assert not tab.is_visible("#read")
            top = "problem => problem.getBoundingClientRect().top"
            assert tab.locator("#problem").evaluate(top) < 400
        tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2023.md")
        tab.wait_for_selector("#outline a")
        assert tab.is_visible("#read")
        assert not tab.is_visible("#problem")


def test_a_late_response_does_not_show_another_document(tab: Tab, url: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    tab.route("**/text/annual-report-2022.md*", hold)
    tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2022.md")
    wait(tab, lambda: bool(held))
    tab.goto(f"{url}/#/read?kb=reports&id=handbook.md")
    tab.wait_for_selector("#text:not(:empty)")
    shown = tab.inner_text("#read")
    with tab.expect_response("**/text/annual-report-2022.md*"):
        held[0].continue_()
    tab.wait_for_timeout(300)
    assert tab.inner_text("#read") == shown


def test_places_of_a_very_long_document_are_shown(tab: Tab, tmp_path: Path) -> None:
    """The server returns at most a million characters at once."""
    filler = "The ship lies in the harbour and waits for better weather.\n\n" * 9_500
    parts = ["# Long book\n\n## First\n\n\N{SAILBOAT}\N{ROCKET}", "## Second\n\n", "## Third\n\n"]
    text = "".join(part + filler for part in parts) + "The pier of Ostend is 30 m long."
    with KnowledgeBase(tmp_path / "long.kb") as long:
        long.add_text(text, document_id="book.md", media_type="text/markdown")
        text = long.get("book.md").text
        server = Running(app_of({"long": long}))
        start = text.index("The pier of Ostend")
        tab.goto(f"{server.url}/#/read?kb=long&id=book.md&at={start}-{start + 32}&q=pier")
        tab.wait_for_selector("mark.place")
        assert tab.inner_text("mark.place") == "The pier of Ostend is 30 m long."
        part = tab.locator("#text .pager .meta").first
        size = f"of {len(text):,}"
        assert part.inner_text() == f"Characters {len(text) - 999_999:,} to {len(text):,} {size}"
        tab.locator("#text >> text=Part before").last.click()
        tab.wait_for_selector(f"text=Characters 1 to 1,000,000 {size} >> nth=0")
        assert "\N{SAILBOAT}" in tab.inner_text("#text")
        assert tab.locator("mark.place").count() == 0
        tab.wait_for_selector("#text .pager:focus")
        tab.locator("#text >> text=Part after").first.click()
        tab.wait_for_selector(f"text=Characters 1,000,001 to {len(text):,} {size} >> nth=0")
        assert tab.inner_text("mark.place") == "The pier of Ostend is 30 m long."
        for link, words in (
            (tab.locator("#outline a").last, "pier of Ostend"),
            (tab.locator("#outline a").first, "\N{SAILBOAT}\N{ROCKET}The ship"),
        ):
            link.click()
            tab.wait_for_selector(f"mark.place:has-text('{words}')")
            assert tab.locator("#outline a[aria-current]").inner_text() == link.inner_text()
        server.stop()


def test_the_model_answers_while_it_writes(tab: Tab, url: str) -> None:
    search(tab, url)
    tab.click("#ask")
    tab.wait_for_selector(".answer li")
    assert "[1]" in tab.inner_text(".answer .body")
    assert "Gross margin" in tab.locator(".answer li a").first.inner_text()
    tab.locator(".answer li a").first.click()
    tab.wait_for_selector("mark.place")
    assert "Gross margin fell to 23.1 per cent" in tab.inner_text("mark.place")


def test_text_of_documents_is_no_markup(tab: Tab, url: str) -> None:
    search(tab, url, "How long is the pier of hostility?")
    assert "<script>" in tab.inner_text("#results")
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    assert tab.locator("#read img[src='x']").count() == 0
    tab.goto(f"{url}/#/documents")
    tab.wait_for_selector("table")
    assert tab.title() == "Documents – Spanwise"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "light"), (390, "dark")])
def test_the_page_fits_and_is_named(browser: Browser, url: str, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab = context.new_page()
    loaded: list[int] = []
    tab.on("response", lambda one: loaded.append(len(one.body())))
    requested: list[str] = []
    tab.on("request", lambda one: requested.append(one.url))
    tab.goto(url)
    tab.wait_for_selector("#base option", state="attached")
    assert sum(loaded) < MAX_BYTES
    page = resources.files("spanwise.server") / "page"
    assert sum(len(file.read_bytes()) for file in page.iterdir() if file.is_file()) < MAX_BYTES
    search(tab, url)
    assert unnamed_controls(tab) == []
    too_wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    tab.click("#more summary")
    assert tab.evaluate(too_wide) <= 0
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    assert tab.evaluate(too_wide) <= 0
    tab.goto(f"{url}/#/documents")
    tab.wait_for_selector("table")
    assert tab.evaluate(too_wide) <= 0
    assert (shade(tab) < 200) == (scheme == "dark")
    assert all(one.startswith((url, "blob:")) for one in requested)
    context.close()


def test_the_keyboard_is_enough(tab: Tab, url: str) -> None:
    tab.goto(url)
    tab.wait_for_selector("#question:focus")
    tab.keyboard.type(QUESTION)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("article.segment")
    for _ in range(20):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "Open in the document":
            break
    tab.keyboard.press("Enter")
    tab.wait_for_selector("mark.place")
    tab.keyboard.press("/")
    tab.wait_for_selector("#question:focus")


def test_the_key_of_the_question_keeps_the_search(tab: Tab, url: str) -> None:
    search(tab, url)
    address = tab.url
    tab.focus("text=Open in the document")
    tab.keyboard.press("/")
    tab.wait_for_selector("#question:focus")
    assert tab.url == address
    assert tab.input_value("#question") == QUESTION


def test_empty_states_say_what_to_do(tab: Tab, tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "empty.kb") as empty:
        server = Running(app_of({"empty": empty}))
        tab.goto(server.url)
        tab.wait_for_selector(".empty")
        tab.wait_for_selector("#results :text('spanwise add')")
        assert tab.is_hidden("#ask"), "there is no model"
        tab.click("#more summary")
        assert "--llm" in tab.inner_text("#more")
        tab.goto(f"{server.url}/#/documents")
        tab.wait_for_selector("#document-list .empty")
        assert "spanwise add" in tab.inner_text("#document-list")
        server.stop()


def test_a_key_is_asked_for(browser: Browser, base: KnowledgeBase, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.json", "page", role="read")
    server = Running(app_of({"reports": base}, keys=KeyRing(read_keys(tmp_path / "keys.json"))))
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(server.url)
    tab.wait_for_selector("dialog[open]")
    tab.fill("dialog input", key)
    tab.click("#dialog-yes")
    tab.wait_for_selector("#base option", state="attached")
    context.close()
    server.stop()


def test_a_wrong_key_is_refused_in_the_dialog(
    browser: Browser, base: KnowledgeBase, tmp_path: Path
) -> None:
    key = add_key(tmp_path / "keys.json", "page", role="read")
    server = Running(app_of({"reports": base}, keys=KeyRing(read_keys(tmp_path / "keys.json"))))
    with opened_tab(browser, allowed="status of 401") as tab:
        tab.goto(f"{server.url}/#/search?q={QUESTION}")
        tab.fill("dialog input", "wrong")
        tab.click("#dialog-yes")
        tab.wait_for_selector("#dialog-problem:has-text('key is wrong')")
        tab.keyboard.press("Escape")
        tab.wait_for_selector("#enter-key")
        assert "Authorization" not in tab.inner_text("main")
        assert tab.locator("main > section:visible").count() == 0
        tab.click("nav >> text=Documents")
        tab.wait_for_selector("dialog[open]")
        tab.keyboard.press("Escape")
        tab.wait_for_selector("dialog", state="hidden")
        assert tab.locator("main > section:visible").count() == 0
        tab.click("#enter-key")
        tab.fill("dialog input", key)
        tab.click("#dialog-yes")
        tab.wait_for_selector("#documents table")
        assert tab.locator("main > section:visible").count() == 1
        assert tab.is_visible("#change-key")
        assert not tab.is_visible("#problem")
    server.stop()


def test_a_server_that_is_gone_is_reported(browser: Browser, base: KnowledgeBase) -> None:
    server = Running(app_of({"reports": base}))
    context = browser.new_context()
    tab = context.new_page()
    search(tab, server.url)
    server.stop()
    tab.fill("#question", "What is the notice period?")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#problem:not([hidden])")
    assert "cannot be reached" in tab.inner_text("#problem")
    context.close()


def test_headers_protect_the_page(url: str) -> None:
    response = httpx.get(url)
    policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    for name in ("../app.py", "%2e%2e%2fapp.py", "app.py", "__init__.py"):
        assert httpx.get(f"{url}/{name}").status_code == 404
