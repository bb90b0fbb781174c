"""The page of a report in a real browser, opened from disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import chromium, shade, unnamed_controls
from tests.evaluations import METHODS, made_evaluation, made_texts, with_unanswerable

from spanwise.evaluation.dataset import DocumentText, Evidence
from spanwise.evaluation.report import ReportExtras, Summary, summarise, write_reports
from spanwise.evaluation.results import Evaluation
from spanwise.evaluation.retrieval import Retrieved

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'//"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarise(made_evaluation(120))


class Opened:
    """A report opened from disk, and what it did."""

    def __init__(self, browser: Browser, path: Path, **context: Any) -> None:
        self.requests: list[str] = []
        self.said: list[str] = []
        self._context = browser.new_context(**context)
        self.tab: Tab = self._context.new_page()
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.goto(path.as_uri())
        self.tab.wait_for_function("document.getElementById('listed').textContent !== ''")

    def locate(self, selector: str) -> Locator:
        return self.tab.locator(selector)

    def rows(self) -> list[list[str]]:
        """Return the cells of the questions that are listed."""
        rows: list[list[str]] = self.tab.eval_on_selector_all(
            "#questions tbody tr[data-question]",
            "all => all.map(one => [...one.cells].map(cell => cell.textContent))",
        )
        return rows

    def close(self) -> None:
        self._context.close()


def written(summary: Summary, folder: Path, beside: ReportExtras | None = None) -> Path:
    texts = made_texts()
    known = ReportExtras(texts=dict.fromkeys(summary.evaluation.datasets, texts))
    return write_reports(summary, folder / "report.html", extras=beside or known).page


@pytest.fixture
def opened(browser: Browser, summary: Summary, tmp_path: Path) -> Iterator[Opened]:
    page = Opened(browser, written(summary, tmp_path))
    yield page
    page.close()


def test_it_opens_from_disk_and_asks_for_nothing(opened: Opened) -> None:
    opened.locate("#questions tbody tr").first.click()
    assert "explain views" not in opened.locate(".detail").inner_text()
    opened.locate("#meanings").scroll_into_view_if_needed()
    assert [url.partition(":")[0] for url in opened.requests] == ["file"]
    assert opened.said == []
    assert opened.tab.title() == "Evaluation: filings, contracts"


def test_figures_are_those_of_the_evaluation(opened: Opened, summary: Summary) -> None:
    cells = opened.tab.eval_on_selector_all(
        "#figures tbody tr:not(.budget)",
        "all => all.map(one => [one.cells[0].textContent, one.cells[1].firstChild.textContent,"
        "one.cells[1].lastChild.textContent])",
    )
    expected = [
        (name, summary.figures[0, name, budget].intervals["recall"])
        for budget in summary.evaluation.budgets
        for name in summary.evaluation.retrievers
    ]
    assert len(cells) == len(expected)
    for (name, mean, below), (method, found) in zip(cells, expected, strict=True):
        assert name == method
        shown = [float(one) for one in (mean, *below.split(" to "))]
        # Half a digit, and which way a tie is rounded.
        figures = [100 * found.mean, 100 * found.low, 100 * found.high]
        assert shown == pytest.approx(figures, abs=0.0501)


def test_questions_without_evidence_are_not_counted_as_measured(
    browser: Browser, tmp_path: Path
) -> None:
    page = Opened(browser, written(summarise(with_unanswerable(made_evaluation(24))), tmp_path))
    assert "questions with evidence: 18 of 24" in page.locate("#summary").inner_text()
    numbers = page.locate("#groups tbody td:nth-child(2)").all_inner_texts()
    assert numbers[:2] == ["18 of 24", "6 of 12"]
    assert "6 of 12 questions" in page.locate("#curves figcaption").first.inner_text()
    assert page.said == []
    page.close()


def test_one_question_has_a_figure_without_an_interval(browser: Browser, tmp_path: Path) -> None:
    page = Opened(browser, written(summarise(made_evaluation(1)), tmp_path))
    assert page.locate("#figures td.number small").filter(has_text=" to ").count() == 0
    assert page.locate("#curve svg circle").count() > 0
    assert page.locate("#curve svg .whisker").count() == 0
    assert page.said == []
    page.close()


def test_curves_have_a_line_and_a_band_a_method(opened: Opened) -> None:
    assert opened.locate("#curve svg path.line").count() == len(METHODS)
    assert opened.locate("#curve svg polygon.band").count() == len(METHODS)
    assert opened.locate("#curves figure").count() == 2  # one a dataset
    label = opened.locate("#curve svg").get_attribute("aria-label")
    assert label is not None
    assert "bm25" in label
    assert "at 4,000 tokens" in label


def test_questions_are_listed_worst_first_and_by_difference(opened: Opened) -> None:
    values = [float(row[1]) for row in opened.rows()]
    assert len(values) == 50
    assert values == sorted(values)
    opened.tab.select_option("#second", label="bm25")
    opened.tab.select_option("#order", "gain")
    changes = [float(row[3].replace("−", "-")) for row in opened.rows()]
    assert changes == sorted(changes, reverse=True)
    for row in opened.rows():
        assert float(row[3].replace("−", "-")) == pytest.approx(
            float(row[1]) - float(row[2]), abs=0.11
        )
    opened.locate("#more").click()
    assert len(opened.rows()) == 120


def test_words_and_kinds_choose_questions(opened: Opened) -> None:
    opened.tab.fill("#words", "number 117?")
    assert [row[0].rpartition(",")[2] for row in opened.rows()] == [" number 117?"]
    opened.tab.fill("#words", "")
    opened.tab.select_option("#group", label="kind: reason")
    assert opened.locate("#listed").inner_text().startswith("40 of 40 questions")


def test_metric_and_budget_change_everything(opened: Opened, summary: Summary) -> None:
    before = opened.rows()
    opened.tab.select_option("#metric", label="precision")
    opened.tab.select_option("#budget", label="4,000 tokens")
    assert opened.rows() != before
    assert opened.locate("#curves-title").inner_text() == "precision against budget"
    found = summary.figures[0, "bm25", 4_000].intervals["precision"]
    first = opened.locate("#groups tbody tr").first.inner_text()
    assert f"{100 * found.mean:.1f}" in first


def marked(text: str, *, one: int, other: int) -> Evaluation:
    """Return an evaluation of one question whose evidence is found up to two places."""
    evaluation = made_evaluation(1, datasets=["d"], methods={"a": 0.9, "b": 0.1}, budgets=(500,))
    ends = {"a": one, "b": other}
    evidence = Evidence(document_id="x", start=10, end=10 + len(text))
    return replace(
        evaluation,
        scores=tuple(
            replace(
                scored,
                question=replace(scored.question, evidence=(evidence,)),
                found=(Retrieved(document_id="x", start=0, end=10 + ends[scored.retriever]),),
                metrics={"recall": ends[scored.retriever] / len(text)},
            )
            for scored in evaluation.scores
        ),
    )


def test_evidence_is_marked_where_it_was_found(browser: Browser, tmp_path: Path) -> None:
    """Places count characters of Python; a wide one is two units of a browser."""
    text = "🦉 owls 🦉 see at night, and sleep by day"
    evaluation = marked(text, one=20, other=8)
    beside = ReportExtras(texts={"d": {"x": DocumentText(text="0123456789" + text)}})
    page = Opened(browser, written(summarise(evaluation), tmp_path, beside))
    page.locate("#questions tbody tr").first.click()
    marks = page.tab.eval_on_selector_all(
        ".detail blockquote mark", "all => all.map(one => [one.className, one.textContent])"
    )
    assert marks == [["both", text[:8]], ["one", text[8:20]], ["", text[20:]]]
    page.close()


def test_rows_open_by_keyboard_and_lead_to_the_explain_view(
    browser: Browser, summary: Summary, tmp_path: Path
) -> None:
    (tmp_path / "report-explain").mkdir()
    (tmp_path / "report-explain" / "001.html").write_text("<title>why</title>", encoding="utf-8")
    keys = [(one.dataset, one.question.id) for one in summary.evaluation.scores]
    beside = ReportExtras(
        explained={(*keys[0], "exact+headers"): "report-explain/001.html"},
        drawing={"exact+headers": "spanwise explain --open"},
        words=dict.fromkeys(keys, "'x'"),
    )
    page = Opened(browser, written(summary, tmp_path, beside))
    page.tab.select_option("#order", "given")
    rows = page.locate("#questions tbody tr[data-question]")
    rows.first.focus()
    page.tab.keyboard.press("Enter")
    assert rows.first.get_attribute("aria-expanded") == "true"
    with page.tab.expect_popup() as popup:
        page.locate(".detail a").click()
    assert popup.value.title() == "why"
    page.tab.keyboard.press("ArrowDown")
    rows.nth(1).focus()
    page.tab.keyboard.press("Enter")
    said = page.locate(".detail").nth(1).inner_text()
    assert "spanwise explain --open 'x'" in said
    assert "None for top-k+headers, bm25" in said
    page.close()


def test_text_of_documents_does_nothing_but_stand_there(browser: Browser, tmp_path: Path) -> None:
    evaluation = made_evaluation(4, datasets=[HOSTILE], methods={HOSTILE: 0.4, "b": 0.5})
    evaluation = replace(
        evaluation,
        settings={"command": HOSTILE, HOSTILE: [HOSTILE]},
        scores=tuple(
            replace(
                one,
                warnings=(HOSTILE,),
                found=(Retrieved(document_id=HOSTILE, text=HOSTILE),),
                question=replace(
                    one.question,
                    text=HOSTILE,
                    answer=HOSTILE,
                    metadata={HOSTILE: HOSTILE},
                    evidence=(Evidence(document_id=HOSTILE, text=HOSTILE),),
                ),
            )
            for one in evaluation.scores
        ),
    )
    page = Opened(browser, written(summarise(evaluation), tmp_path))
    page.locate("#questions tbody tr").first.click()
    assert page.tab.title() == f"Evaluation: {HOSTILE}"
    assert page.locate("img").count() == 0
    assert page.locate("script").count() == 2
    assert HOSTILE in page.locate(".detail").inner_text()
    assert page.said == []
    page.close()


def test_scripts_that_are_not_its_own_are_refused(
    browser: Browser, summary: Summary, tmp_path: Path
) -> None:
    path = written(summary, tmp_path)
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    page = path.read_text("utf-8").replace("<main>", "<main>" + attack)
    path.write_text(page, encoding="utf-8")
    opened = Opened(browser, path)
    assert opened.tab.title() == "Evaluation: filings, contracts"
    assert len(opened.said) >= 2  # each refusal is told on the console
    opened.close()


def test_a_method_that_was_not_measured_everywhere_leaves_gaps(
    browser: Browser, tmp_path: Path
) -> None:
    """Runs that were merged need not have measured the same."""
    evaluation = made_evaluation(24)
    scores = tuple(
        one
        for one in evaluation.scores
        if one.retriever != "bm25" or (one.dataset, one.budget_tokens) == ("filings", 4_000)
    )
    summary = summarise(replace(evaluation, scores=scores))
    page = Opened(browser, written(summary, tmp_path))
    assert page.said == []
    assert page.locate("#figures tbody tr:not(.budget)").count() == 6
    assert page.locate("#figures").get_by_text("not measured").count() == 1
    page.locate("#second").select_option(label="bm25")
    assert len(page.rows()) == 24
    page.locate("#budget").select_option(label="4,000 tokens")
    assert page.said == []
    page.close()


def test_every_control_has_a_name(opened: Opened) -> None:
    assert unnamed_controls(opened.tab) == []


def test_it_is_dark_where_the_reader_wants_it(
    browser: Browser, summary: Summary, tmp_path: Path
) -> None:
    shades = []
    for scheme in ("light", "dark"):
        page = Opened(browser, written(summary, tmp_path), color_scheme=scheme)
        shades.append(shade(page.tab))
        page.close()
    assert shades[0] > 600
    assert shades[1] < 150


def test_a_phone_scrolls_down_alone(browser: Browser, summary: Summary, tmp_path: Path) -> None:
    page = Opened(browser, written(summary, tmp_path), viewport={"width": 360, "height": 740})
    page.locate("#questions tbody tr").first.click()
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


def test_one_method_at_one_budget_needs_no_choices(browser: Browser, tmp_path: Path) -> None:
    evaluation = made_evaluation(12, datasets=["d"], methods={"exact": 0.5}, budgets=(500,))
    page = Opened(browser, written(summarise(evaluation), tmp_path))
    assert page.locate("#second-label").is_hidden()
    assert page.locate("#budget-label").is_hidden()
    assert page.locate("#curve svg circle").count() == 1
    assert page.locate("#curves-title").inner_text() == "recall at 500 tokens"
    page.locate("#questions tbody tr").first.click()
    assert page.said == []
    page.close()


def test_a_thousand_questions_open_at_once(browser: Browser, tmp_path: Path) -> None:
    path = written(summarise(made_evaluation(1_000)), tmp_path)
    assert path.stat().st_size < 4_000_000
    page = Opened(browser, path)
    ready = page.tab.evaluate(
        "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    )
    assert ready < 3_000  # some 200 ms on a machine at rest
    assert len(page.rows()) == 50
    page.close()
