"""The page of an explanation in a real browser, opened from disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.browser import chromium, shade, unnamed_controls
from tests.chunk_values import numbers, random_documents, share_documents
from tests.explanations import QUESTION, chosen, chosen_again, filled_base

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.core.extraction.exact import chunk_values, extract_segments
from spanwise.search.explanation import Explanation

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BUDGET = 600
_SOLVER_FILE = resources.files("spanwise.search.explanation").joinpath("solver.js")
SOLVER = _SOLVER_FILE.read_text("utf-8").replace("export ", "")  # it is put into a function
CLAUSE = (
    "Gross margin of the mill fell because freight by road cost more than in the year before, "
    "and because the locks on the river were closed for the whole of the winter season."
)
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'//"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    with filled_base() as base:
        return base.explain(QUESTION, budget_tokens=BUDGET)


class Opened:
    """A page opened from disk, and what it did."""

    def __init__(self, browser: Browser, path: Path, **context: Any) -> None:
        self.requests: list[str] = []
        self.said: list[str] = []
        self._context = browser.new_context(**context)
        self.tab: Tab = self._context.new_page()
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.goto(path.as_uri())
        self.tab.wait_for_function("document.getElementById('outcome').textContent !== ''")

    def segments(self) -> list[tuple[str, int, int]]:
        """Return what the page says is chosen: document, first chunk, end."""
        self.settle()
        ids = json.loads(self.tab.text_content("#data") or "")
        cards = self.tab.eval_on_selector_all(
            "#segments > li[data-document]", "all => all.map(one => ({...one.dataset}))"
        )
        documents = [one["id"] for one in ids["documents"]]
        return sorted(
            (documents[int(card["document"])], int(card["first"]), int(card["end"]))
            for card in cards
        )

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.tab.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )

    def set_number(self, name: str, value: object) -> None:
        self.tab.fill(f"#{name}-number", str(value))
        self.tab.press(f"#{name}-number", "Enter")

    def number(self, name: str) -> float:
        return float(self.tab.input_value(f"#{name}-number"))

    def locate(self, selector: str) -> Locator:
        return self.tab.locator(selector)

    def close(self) -> None:
        self._context.close()


def written(explanation: Explanation, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(explanation.to_html(), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, explanation: Explanation, tmp_path: Path) -> Iterator[Opened]:
    page = Opened(browser, written(explanation, tmp_path))
    yield page
    page.close()


def test_it_opens_from_disk_and_asks_for_nothing(opened: Opened, explanation: Explanation) -> None:
    opened.locate("#documents").scroll_into_view_if_needed()
    opened.settle()
    assert [url.partition(":")[0] for url in opened.requests] == ["file"]
    assert opened.said == []
    assert opened.segments() == chosen(explanation)
    assert opened.locate("h1").inner_text() == QUESTION
    assert "as the search chose" in opened.locate("#outcome").inner_text()


@pytest.mark.parametrize("queries", [(), ("When do the locks close?", "Who bakes rye bread?")])
def test_its_own_choice_at_the_settings_of_the_search_is_that_of_the_search(
    browser: Browser, tmp_path: Path, queries: tuple[str, ...]
) -> None:
    """Beside the result the page decides why each chunk is in or out; both must agree."""
    with filled_base() as base:
        for name in ("a", "b", "c"):
            base.add_text(f"# Notes of {name}\n\n{CLAUSE}", document_id=name)
        explanation = base.explain(
            QUESTION,
            more_queries=queries,
            budget_tokens=BUDGET,
            segment_options=SegmentOptions(token_price=0.3),
        )
    decisions = {one.decision for one in explanation.candidates}
    assert {"segment", "budget", "copy", "price"} <= decisions
    page = Opened(browser, written(explanation, tmp_path))
    expected = [one.reason for one in explanation.candidates]
    for price in (0.3, 0.3000000001):
        page.set_number("price", price)  # nearly the same is another setting, chosen anew
        assert page.segments() == chosen(explanation)
        while page.locate("#more").is_visible():
            page.locate("#more").click()
        said = page.tab.eval_on_selector_all(
            "#candidates tbody tr[data-row]",
            "all => all.map(one => one.lastElementChild.textContent)",
        )
        assert said == expected
    page.close()


def test_values_are_rounded_as_python_rounds(browser: Browser) -> None:
    halves = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.49, 7.51, -7.51, 4e15 + 1]
    shares, lengths = share_documents(5, documents=1, chunks=200)
    expected = np.rint(chunk_values(shares[0], lengths[0], token_price=0.0137) * 1e9)
    tab = browser.new_page()
    rounded, values = tab.evaluate(
        "([halves, shares, tokens]) => {" + SOLVER + "return [halves.map(roundEven),"
        "[...chunkValues(shares, tokens, 0.0137)]]; }",
        [halves, shares[0].tolist(), lengths[0].tolist()],
    )
    tab.close()
    assert rounded == np.rint(halves).tolist()
    assert values == expected.tolist()


def test_sliders_move_by_keyboard_and_choose_as_python_does(
    opened: Opened, explanation: Explanation
) -> None:
    for name, key, times in [("budget", "ArrowRight", 12), ("charge", "ArrowLeft", 9)]:
        opened.locate(f"#{name}").focus()
        for _ in range(times):
            opened.tab.keyboard.press(key)
    budget, charge = int(opened.number("budget")), opened.number("charge")
    assert budget > BUDGET
    assert charge < explanation.terms.segment_charge
    assert opened.segments() == chosen_again(explanation, budget=budget, charge=charge)
    assert opened.segments() != chosen(explanation)
    assert opened.locate("#budget").get_attribute("aria-valuetext") == str(budget)
    opened.locate("#reset").focus()
    opened.tab.keyboard.press("Enter")
    assert opened.segments() == chosen(explanation)
    assert opened.number("budget") == BUDGET


@pytest.mark.parametrize(
    ("price", "charge", "budget"),
    [
        (0.0, 0.0, 600),
        (0.0, 0.0175, 100_000),
        (0.002, 0.0, 2_500),
        (0.015, 0.01, 1_500),
        (0.05, 0.2, 4_000),
        (3.0, 0.001, 900),
        (0.002, 0.0175, 100),
        (9.0, 0.0, 4_000),
    ],
)
def test_settings_choose_as_python_does(
    opened: Opened, explanation: Explanation, price: float, charge: float, budget: int
) -> None:
    for name, value in (("price", price), ("charge", charge), ("budget", budget)):
        opened.set_number(name, value)
    budget = int(opened.number("budget"))
    expected = chosen_again(explanation, price=price, charge=charge, budget=budget)
    assert opened.segments() == expected


@pytest.mark.parametrize(
    "options",
    [
        SegmentOptions(max_segment_tokens=150, segment_charge=0.002),
        SegmentOptions(min_segment_value=0.03),
        SegmentOptions(min_segment_value=0.03, max_segment_tokens=200, segment_charge=0.001),
    ],
)
def test_limits_of_a_segment_hold_on_the_page(
    browser: Browser, tmp_path: Path, options: SegmentOptions
) -> None:
    with filled_base() as base:
        explanation = base.explain(
            QUESTION, more_queries=["When do locks close?"], segment_options=options
        )
    page = Opened(browser, written(explanation, tmp_path))
    for budget in (300, 1_200, 3_001):
        page.set_number("budget", budget)
        assert page.segments() == chosen_again(explanation, budget=budget)
    page.close()


def test_the_solver_gives_what_extract_segments_gives(browser: Browser) -> None:
    """Random problems of both kinds of values: the same runs, values and tokens, ties and all."""
    draw = numbers(7)
    problems, expected = [], []
    for number in range(120):
        make = random_documents if number % 2 else share_documents
        documents, chunks = 1 + draw(6), (1, 4, 15, 60)[draw(4)]
        values, lengths = make(number, documents=documents, chunks=chunks)
        if number % 7 == 0:  # many ties
            values = [np.where(one > 0, 0.25, -0.25) for one in values]
            lengths = [np.full_like(one, 100) for one in lengths]
        budget, header = (80, 400, 1_500, 6_000)[draw(4)], (0, 0, 40)[draw(3)]
        charge, least = (0.0, 0.02, 0.3)[draw(3)], (0.0, 0.0, 0.4)[draw(3)]
        longest = (None, None, 250, 900)[draw(4)]
        required = [(draw(documents), draw(chunks)) for _ in range(draw(3))]
        costs = [0.0, 0.0, 0.25 * charge, charge]
        borders = [np.array([costs[draw(4)] for _ in one]) for one in values]
        found = extract_segments(
            values,
            lengths,
            budget_tokens=budget,
            segment_charge=charge,
            min_segment_value=least,
            max_segment_tokens=longest,
            header_tokens=header,
            required=required,
            border_costs=borders,
        )
        edges = np.cumsum([0, *map(len, values)]).tolist()
        problems.append(
            {
                "values": np.rint(np.concatenate(values) * 1e9).tolist(),
                "tokens": np.concatenate(lengths).tolist(),
                "borders": np.rint(np.concatenate(borders) * 1e9).tolist(),
                "edges": edges,
                "budget": budget,
                "header": header,
                "longest": longest,
                "charge": round(charge * 1e9),
                "least": round(least * 1e9),
                "required": [edges[document] + chunk for document, chunk in required],
            }
        )
        runs = [
            [edges[run.document] + run.start, edges[run.document] + run.end] for run in found.runs
        ]
        expected.append([runs, round(found.value * 1e9), found.tokens, found.optimal])
    tab = browser.new_page()
    got = tab.evaluate(
        "problems => {" + SOLVER + "return problems.map(one => {"
        "const found = extractSegments(one);"
        "return [found.runs, found.value, found.tokens, found.optimal]; }); }",
        problems,
    )
    tab.close()
    assert got == expected


def test_4000_chunks_are_chosen_from_in_time(browser: Browser) -> None:
    """A move of a slider chooses three times at most; each stays far below a tenth of a second."""
    values, lengths = share_documents(3, documents=20, chunks=200)
    problem = {
        "values": np.rint((np.concatenate(values) - 1e-4) * 1e9).tolist(),
        "tokens": np.concatenate(lengths).tolist(),
        "borders": [0] * sum(map(len, values)),
        "edges": np.cumsum([0, *map(len, values)]).tolist(),
        "budget": 4_000, "header": 60, "longest": None, "charge": 17_500_000, "least": 0,
        "required": [],
    }  # fmt: skip
    tab = browser.new_page()
    times = tab.evaluate(
        "problem => {" + SOLVER + "const times = [];"
        "for (let round = 0; round < 9; round += 1) { const start = performance.now();"
        "extractSegments(problem); times.push(performance.now() - start); }"
        "return times.sort((a, b) => a - b); }",
        problem,
    )
    tab.close()
    assert times[0] < 100


def test_segments_of_the_greedy_method_are_shown_as_they_were_returned(
    browser: Browser, tmp_path: Path
) -> None:
    with filled_base() as base:
        explanation = base.explain(QUESTION, method="greedy", preset="dsrag-find-all")
    assert explanation.result.segments
    page = Opened(browser, written(explanation, tmp_path))
    assert page.segments() == chosen(explanation)
    assert "greedy method" in page.locate("#notice").inner_text()
    page.close()


def test_what_was_refused_is_shown_as_such(browser: Browser, tmp_path: Path) -> None:
    with filled_base() as base:
        explanation = base.explain("How do quantum computers factor integers?", abstain=True)
    assert explanation.result.not_found
    page = Opened(browser, written(explanation, tmp_path))
    assert page.segments() == chosen_again(explanation)
    assert "Nothing was found" in page.locate("#notice").inner_text()
    assert "none of it was returned" in page.locate("#outcome").inner_text()
    page.close()


def test_text_of_documents_does_nothing_but_stand_there(browser: Browser, tmp_path: Path) -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(
            f"# {HOSTILE}\n\nGross margin fell. {HOSTILE}\n\u2028<!-- <script> & \x00 end",
            document_id=f"d{HOSTILE}",
            title=HOSTILE,
        )
        base.add_text("هامش الربح انخفض بسبب الشحن. gross margin", document_id="ar", title="تقرير")
        explanation = base.explain(
            f"gross margin {HOSTILE}", segment_options=SegmentOptions(token_price=0)
        )
    page = Opened(browser, written(explanation, tmp_path))
    page.locate("#candidates tbody tr[data-row]").first.click()
    assert page.tab.title() == f"Why: gross margin {HOSTILE}"
    assert page.locate("img").count() == 0
    assert page.locate("script").count() == 2
    assert HOSTILE in page.locate("#candidates").inner_text()
    assert page.locate("#candidates blockquote[dir=auto]").count() == 1
    assert [url.partition(":")[0] for url in page.requests] == ["file"]
    assert page.said == []
    page.close()


def test_scripts_and_styles_that_are_not_its_own_are_refused(
    browser: Browser, explanation: Explanation, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    path.write_text(explanation.to_html().replace("<main>", "<main>" + attack), encoding="utf-8")
    page = Opened(browser, path)
    page.settle()
    assert page.tab.title() == f"Why: {QUESTION}"
    assert len(page.said) >= 2  # each refusal is told on the console
    page.close()


def test_rows_open_by_keyboard_and_arrows_move(opened: Opened, explanation: Explanation) -> None:
    rows = opened.locate("#candidates tbody tr[data-row]")
    rows.first.focus()
    opened.tab.keyboard.press("Enter")
    assert rows.first.get_attribute("aria-expanded") == "true"
    detail = opened.locate("#candidates tr.detail").inner_text()
    assert explanation.candidates[0].text.split(".")[0] in detail
    assert "words around it" in detail
    assert "keyword score" in detail
    opened.tab.keyboard.press("ArrowDown")
    focused = opened.tab.evaluate("document.activeElement.dataset.row")
    assert focused == rows.nth(1).get_attribute("data-row")
    opened.tab.keyboard.press("ArrowUp")
    opened.tab.keyboard.press("Enter")
    assert rows.first.get_attribute("aria-expanded") == "false"


def test_the_plot_is_read_by_keyboard_and_as_a_table(
    opened: Opened, explanation: Explanation
) -> None:
    strip = opened.locate(".strip").first
    strip.focus()
    opened.tab.keyboard.press("ArrowRight")
    assert opened.locate(".readout").first.inner_text().startswith("Chunk 0")
    label = strip.get_attribute("aria-label")
    assert label is not None
    assert "segment 1 at chunks" in label
    opened.locate(".document summary").first.click()
    lines = opened.locate(".document details table tbody tr")
    lines.first.wait_for()  # a browser tells of the opening a little later
    assert lines.count() == sum(len(run.tokens) for run in explanation.documents[0].runs)


def test_every_control_has_a_name(opened: Opened) -> None:
    assert unnamed_controls(opened.tab) == []


def test_it_is_dark_where_the_reader_wants_it(
    browser: Browser, explanation: Explanation, tmp_path: Path
) -> None:
    shades = []
    for scheme in ("light", "dark"):
        page = Opened(browser, written(explanation, tmp_path), color_scheme=scheme)
        shades.append(shade(page.tab))
        page.close()
    assert shades[0] > 600
    assert shades[1] < 150


def test_nothing_moves_for_who_wants_no_motion(
    browser: Browser, explanation: Explanation, tmp_path: Path
) -> None:
    page = Opened(browser, written(explanation, tmp_path), reduced_motion="reduce")
    duration = page.tab.evaluate("getComputedStyle(document.getElementById('used')).transition")
    assert "0.12s" not in duration
    page.close()


def test_a_phone_scrolls_down_alone(
    browser: Browser, explanation: Explanation, tmp_path: Path
) -> None:
    page = Opened(browser, written(explanation, tmp_path), viewport={"width": 360, "height": 740})
    page.locate("#candidates tbody tr[data-row]").first.click()
    page.locate(".document summary").first.click()
    page.locate(".document details tbody tr").first.wait_for()
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


def test_a_hundred_documents_stay_under_a_megabyte_and_are_drawn_as_they_are_seen(
    browser: Browser, tmp_path: Path
) -> None:
    with filled_base(100, paragraphs=36) as base:
        explanation = base.explain(QUESTION, more_queries=["rye bread", "solar panels", "locks"])
    path = written(explanation, tmp_path)
    assert len(explanation.documents) == 100
    assert path.stat().st_size < 1_000_000
    page = Opened(browser, path)
    assert page.locate(".document").count() == 100
    page.locate(".document").nth(50).scroll_into_view_if_needed()
    page.tab.wait_for_selector(".document svg")
    assert page.locate(".document svg").count() < 50
    assert page.segments() == chosen(explanation)
    page.set_number("budget", 9_000)
    assert page.segments() == chosen_again(explanation, budget=9_000)
    assert page.said == []
    page.close()
