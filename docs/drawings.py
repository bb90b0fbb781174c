"""Draws the pictures of docs/images: data flows, and one search of the example documents.

The charts show the result of real searches. Pictures have light and dark colours and follow the
setting of the system. `python -m docs.drawings` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from spanwise import KnowledgeBase

IMAGES = Path(__file__).resolve().parent / "images"
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WIDTH = 640
MARGIN = 16
REPORT = "annual-report-2023.md"
QUESTION = "Why did the gross margin fall in 2023?"
QUESTIONS = (
    QUESTION,
    "When can the buyer terminate?",
    "What is the notice period of the lease?",
    "How many moons does Jupiter have?",
    "Which auditor resigned?",
)
"""Questions of the picture of the evidence; the documents have no lease, moons or auditor."""
_STYLE = """
.ground { fill: #ffffff; } .box { fill: #eef2fb; stroke: #6b7fb8; } .optional { fill: none;
stroke: #8a8f9c; stroke-dasharray: 5 4; } .bar { fill: #b9c3da; } .chosen { fill: #2f5fd0; }
.band { fill: #2f5fd0; opacity: 0.13; } .below { fill: #d9814a; } .axis { stroke: #6b6f7a; }
.arrow { stroke: #6b6f7a; fill: none; } .head { fill: #6b6f7a; } text { fill: #20242e;
font: 14px system-ui, sans-serif; } .small { font-size: 12.5px; fill: #565b68; }
.strong { font-weight: 600; } .inverse { fill: #ffffff; font-weight: 600; }
@media (prefers-color-scheme: dark) { .ground { fill: #1e2129; } .box { fill: #2a3143;
stroke: #8194cc; } .optional { stroke: #9096a5; } .bar { fill: #56607a; } .chosen { fill: #7ea2ff; }
.band { fill: #7ea2ff; } .below { fill: #e09a68; } .axis, .arrow { stroke: #a2a7b4; }
.head { fill: #a2a7b4; } text { fill: #e4e7ee; } .small { fill: #aeb4c2; }
.inverse { fill: #10131a; } }
"""


@dataclass
class Drawing:
    """An SVG picture of fixed width that grows downwards."""

    description: str
    """Text for readers who do not see the picture."""
    parts: list[str] = field(default_factory=list)
    """Elements of the picture."""
    height: float = MARGIN
    """Height of the picture so far."""

    def rectangle(
        self, kind: str, x: float, y: float, width: float, height: float, *, round_by: float = 0
    ) -> None:
        """Add a rectangle."""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect class="{kind}" {place} rx="{round_by:g}"/>')

    def text(self, x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> None:
        """Add a line of text; `anchor` is start, middle or end."""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="{kind}" {place}>{escape(text)}</text>')

    def line(self, kind: str, *points: tuple[float, float]) -> None:
        """Add a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{path}"/>')

    def arrow(self, x: float, start: float, end: float) -> None:
        """Add an arrow down."""
        self.line("arrow", (x, start), (x, end - 6))
        self.parts.append(
            f'<path class="head" d="M{x - 5:.1f} {end - 8:.1f}h10l-5 8z"/>',
        )

    def svg(self) -> str:
        """Return the file."""
        height = round(self.height + MARGIN)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                f'width="{WIDTH}" height="{height}" role="img">',
                f"<title>{escape(self.description)}</title>",
                f"<style>{_STYLE}</style>",
                f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


Step = tuple[str, str] | tuple[str, str, str]
"""Text and package of a step; a third item is the text of an optional step next to it."""


def flow(description: str, steps: Sequence[Step]) -> Drawing:
    """Return a chart of steps below each other; optional ones are dashed, on the right."""
    drawing = Drawing(description)
    has_options = any(len(step) > 2 for step in steps)
    width = 360.0 if has_options else 420.0
    left = MARGIN if has_options else (WIDTH - width) / 2
    for number, (text, package, *options) in enumerate(steps):
        y = drawing.height
        if number:
            drawing.arrow(left + width / 2, y, y + 24)
            y += 24
        height = 50 if package else 36
        drawing.rectangle("box", left, y, width, height, round_by=6)
        drawing.text(left + width / 2, y + 22, text, anchor="middle")
        if package:
            drawing.text(left + width / 2, y + 40, package, kind="small", anchor="middle")
        for option in options:
            x = left + width + 24
            drawing.line("arrow", (left + width, y + height / 2), (x, y + height / 2))
            drawing.rectangle("optional", x, y, WIDTH - MARGIN - x, height, round_by=6)
            for at, line in enumerate(option.split("\n")):
                drawing.text(x + 12, y + 21 + 18 * at, line, kind="small")
        drawing.height = y + height
    return drawing


def adding() -> Drawing:
    """Return the steps when a document is added."""
    return flow(
        "Steps when a document is added, from the file to the index",
        [
            ("File, folder, URL or object storage", ""),
            ("Fetch and unpack", "ingest"),
            ("Parse in a separate process", "parsers"),
            ("Document: text, headings, pages, tables", ""),
            (
                "Divide into sections",
                "core/documents",
                "Optional: sections, titles,\nsummaries by a model",
            ),
            ("Divide into chunks, build headers", "core/documents"),
            ("Embed chunks, locate landmarks", "models, packs"),
            ("One transaction in truth.db", "stores"),
            ("Index parts, built later", "stores"),
        ],
    )


def searching() -> Drawing:
    """Return the steps when a question is searched or answered."""
    return flow(
        "Steps of a search, from the question to segments and an answer",
        [
            ("Question", "", "Optional: queries by a model"),
            ("Query terms and query vector", "search, core/ranking"),
            ("Keyword and vector scores of all chunks", "stores"),
            (
                "Candidates from the best documents",
                "core/ranking",
                "If installed: MiniLM.\nOptional: reranker",
            ),
            ("Shares of the evidence, by a linear model", "core/ranking"),
            ("Is there an answer?", "core/ranking"),
            ("Exact selection under the token budget", "core/extraction"),
            (
                "Segments with headers and citations",
                "search",
                "Optional: answer by a\nmodel, quotes checked",
            ),
        ],
    )


def quotes() -> Drawing:
    """Return the checks of a statement of an answer."""
    drawing = Drawing("Each quote and each number of an answer is compared with the stored text")
    cells = (
        ("Segments", "passages with headers", "and exact locations"),
        ("Model", "writes statements, each", "with words to quote"),
        ("Check", "compares quotes and", "numbers with the text"),
    )
    width, gap = 184.0, 28.0
    for number, (title, *lines) in enumerate(cells):
        x = MARGIN + number * (width + gap)
        drawing.rectangle("box", x, MARGIN, width, 78, round_by=6)
        drawing.text(x + width / 2, MARGIN + 24, title, kind="strong", anchor="middle")
        for at, line in enumerate(lines):
            drawing.text(x + width / 2, MARGIN + 46 + 18 * at, line, kind="small", anchor="middle")
        if number:
            drawing.line("arrow", (x - gap, MARGIN + 39), (x - 8, MARGIN + 39))
            drawing.parts.append(f'<path class="head" d="M{x - 9:.1f} {MARGIN + 34}v10l8 -5z"/>')
    marks = (
        ("[1]", "the quote is in the stored text; its place is listed below the answer"),
        ("[1?]", "the quote is not in the stored text"),
        ("[?]", "the statement has no quote"),
        ("[!]", "a number, date or name of the statement is not in its quotes"),
    )
    drawing.arrow(MARGIN + 2 * (width + gap) + width / 2, MARGIN + 78, MARGIN + 104)
    y = MARGIN + 104.0
    drawing.rectangle("optional", MARGIN, y, WIDTH - 2 * MARGIN, 28 * len(marks) + 10, round_by=6)
    for number, (mark, meaning) in enumerate(marks):
        drawing.text(MARGIN + 14, y + 25 + 28 * number, mark, kind="strong")
        drawing.text(MARGIN + 66, y + 25 + 28 * number, meaning)
    drawing.height = y + 28 * len(marks) + 10
    return drawing


@dataclass(frozen=True)
class Strip:
    """A document on a horizontal line: characters as positions."""

    chars: int
    left: float = MARGIN
    width: float = WIDTH - 2 * MARGIN

    def place(self, start: int, end: int) -> tuple[float, float]:
        """Return position and width of a range of characters."""
        scale = self.width / self.chars
        return self.left + start * scale, (end - start) * scale


def sections(base: KnowledgeBase) -> Drawing:
    """Return the sections and chunks of a document, with the header of one chunk."""
    drawing = Drawing("A document is divided into sections, and sections into chunks")
    chunks = base.chunks(REPORT)
    strip = Strip(chunks[-1].end)
    rows = {
        REPORT: [(0, chunks[-1].end)],
        "sections": [(section.start, section.end) for section in base.sections(REPORT)],
        "chunks": [(chunk.start, chunk.end) for chunk in chunks],
    }
    for name, ranges in rows.items():
        drawing.text(MARGIN, drawing.height + 14, f"{len(ranges)} {name}" if ranges[1:] else name)
        for start, end in ranges:
            x, width = strip.place(start, end)
            drawing.rectangle("box", x + 1, drawing.height + 22, width - 2, 26, round_by=4)
        drawing.height += 64
    chosen = chunks[4]
    x, width = strip.place(chosen.start, chosen.end)
    drawing.rectangle("chosen", x + 1, drawing.height - 42, width - 2, 26, round_by=4)
    drawing.arrow(x + width / 2, drawing.height - 16, drawing.height + 14)
    y = drawing.height + 14
    drawing.rectangle("optional", MARGIN, y, WIDTH - 2 * MARGIN, 115, round_by=6)
    record = base.record(REPORT)
    path = base.sections(REPORT)[chosen.section].path
    section = " > ".join(path[path[0] == record.title :])
    drawing.text(MARGIN + 14, y + 22, "This chunk is embedded with its header:", kind="small")
    for number, line in enumerate((record.title, record.summary, section)):
        shown = line if len(line) < 70 else f"{line[:66]} ..."
        drawing.text(MARGIN + 14, y + 44 + 19 * number, shown, kind="strong")
    drawing.text(MARGIN + 14, y + 103, " ".join(chosen.text.split())[:74] + " ...")
    drawing.height = y + 115
    return drawing


def relevance(base: KnowledgeBase) -> Drawing:
    """Return the relevance along a document, with the segment that was selected."""
    drawing = Drawing(f"Relevance of each chunk of {REPORT} for the question: {QUESTION}")
    explanation = base.explain(QUESTION, budget_tokens=500, deep=False)
    chunks = base.chunks(REPORT)
    strip = Strip(chunks[-1].end, left=52, width=WIDTH - MARGIN - 52)
    (document,) = (each for each in explanation.documents if each.document_id == REPORT)
    (run,) = document.runs
    ground = MARGIN + 190
    segment = next(each for each in explanation.result.segments if each.document_id == REPORT)
    x, width = strip.place(segment.start, segment.end)
    drawing.rectangle("band", x, MARGIN + 26, width, ground - MARGIN - 26)
    drawing.text(x + 6, MARGIN + 18, "segment", kind="strong")
    for chunk, value in zip(chunks, run.relevances, strict=True):
        x, width = strip.place(chunk.start, chunk.end)
        height = max(150 * value, 1.5)
        is_chosen = segment.start <= chunk.start and chunk.end <= segment.end
        drawing.rectangle(
            "chosen" if is_chosen else "bar", x + 2, ground - height, width - 4, height
        )
    for value in (0.0, 0.5, 1.0):
        drawing.text(46, ground - 150 * value + 5, f"{value:.1f}", kind="small", anchor="end")
    drawing.line("axis", (52, ground), (WIDTH - MARGIN, ground))
    _label_sections(drawing, base, strip, ground + 20)
    drawing.height = ground + 44
    return drawing


def _label_sections(drawing: Drawing, base: KnowledgeBase, strip: Strip, y: float) -> None:
    """Write the titles of wide sections below a strip, at their beginnings."""
    for section in base.sections(REPORT):
        x, width = strip.place(section.start, section.end)
        drawing.line("axis", (x, y - 20), (x, y - 10))
        words = section.path[-1].removeprefix("Harrow Mills: ").split()
        while words and (6.6 * len(" ".join(words)) > width or words[-1] == "/"):
            words.pop()
        drawing.text(x + 3, y, " ".join(words), kind="small")


def selection(base: KnowledgeBase) -> Drawing:
    """Return the values of chunks under two prices, with the selected segments."""
    drawing = Drawing(
        "The value of a chunk is its share of the evidence minus the price of its tokens"
    )
    for preset in ("precise", "balanced"):
        explanation = base.explain(QUESTION, preset=preset, budget_tokens=1_000, deep=False)
        chunks = base.chunks(REPORT)
        strip = Strip(chunks[-1].end, left=MARGIN)
        values = {
            each.chunk: each.value for each in explanation.candidates if each.document_id == REPORT
        }
        segments = [each for each in explanation.result.segments if each.document_id == REPORT]
        top = drawing.height
        price = explanation.terms.token_price
        drawing.text(
            MARGIN, top + 14, f"{preset}: 1,000 tokens cost a share of {price:g}", kind="strong"
        )
        ground = top + 130
        for segment in segments:
            x, width = strip.place(segment.start, segment.end)
            drawing.rectangle("band", x, top + 24, width, 130)
        for number, chunk in enumerate(chunks):
            x, width = strip.place(chunk.start, chunk.end)
            value = values[number]
            size = max(min(180 * abs(value), 90), 1.5)
            kind = "chosen" if value > 0 else "below"
            drawing.rectangle(kind, x + 2, ground - size if value > 0 else ground, width - 4, size)
            at = ground - size - 5 if value > 0 else ground + size + 14
            drawing.text(x + width / 2, at, f"{value:+.3f}", kind="small", anchor="middle")
        drawing.line("axis", (MARGIN, ground), (WIDTH - MARGIN, ground))
        drawing.height = ground + 36
    return drawing


def budgets(base: KnowledgeBase) -> Drawing:
    """Return the segments that a question has under several budgets."""
    drawing = Drawing(f"Segments of {REPORT} under several budgets")
    left = 130.0
    width = WIDTH - MARGIN - left - 100
    for budget in (150, 300, 600, 1_200):
        result = base.search(QUESTION, budget_tokens=budget, deep=False)
        strip = Strip(base.record(REPORT).chars, left=left, width=width)
        drawing.text(MARGIN, drawing.height + 19, f"{budget:,} tokens")
        drawing.rectangle("bar", left, drawing.height, width, 28)
        for segment in result.segments:
            if segment.document_id == REPORT:
                x, size = strip.place(segment.start, segment.end)
                drawing.rectangle("chosen", x, drawing.height, size, 28)
        used = f"{result.tokens:,} used"
        drawing.text(WIDTH - MARGIN, drawing.height + 19, used, kind="small", anchor="end")
        drawing.height += 40
    drawing.height -= 8
    return drawing


def evidence(base: KnowledgeBase) -> Drawing:
    """Return the probability of an answer for several questions."""
    drawing = Drawing(
        "Evidence of the search: the probability that the documents contain an answer"
    )
    left, width = 330.0, 200.0
    for question in QUESTIONS:
        result = base.search(question, deep=False)
        drawing.text(MARGIN, drawing.height + 18, question)
        drawing.rectangle("bar", left, drawing.height + 4, width, 18)
        kind = "below" if result.weak_evidence else "chosen"
        drawing.rectangle(kind, left, drawing.height + 4, max(width * result.evidence, 2), 18)
        note = f"{result.evidence:.2f}" + (" weak" if result.weak_evidence else "")
        drawing.text(left + width + 10, drawing.height + 18, note, kind="small")
        drawing.height += 32
    drawing.height -= 6
    return drawing


@contextmanager
def _examples() -> Iterator[KnowledgeBase]:
    """Open a temporary knowledge base of the example reports."""
    with KnowledgeBase(":memory:") as base:
        base.add(EXAMPLES / "reports")
        yield base


def pictures() -> dict[str, str]:
    """Return the text of each picture, by the name of its file."""
    drawings = {make.__name__: make() for make in (adding, searching, quotes)}
    with _examples() as base:
        for draw in (sections, relevance, selection, budgets, evidence):
            drawings[draw.__name__] = draw(base)
    return {f"{name}.svg": drawing.svg() for name, drawing in drawings.items()}


def main() -> None:
    """Write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
