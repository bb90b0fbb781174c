"""What a capable model would answer about examples/reports: the pages of docs run against it.

Sections, titles and summaries are read off the text; answers to the questions of the docs were
written by hand. A quote is given for the segment in which it stands, as a model would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise.models.ports import ModelRequest

__all__ = ["capable_answer", "capable_reply", "capable_server"]

Form = Mapping[str, object]

_LINE = re.compile(r"^\[(\d+)\] ?(.*)$", re.MULTILINE)
_SEGMENT = re.compile(r'<segment number="(\d+)"(.*?)</segment>', re.DOTALL)
_PASSAGE = re.compile(r"^Passage (\d+):\n<(passage\w*)>\n(.*?)\n</\2>", re.DOTALL | re.MULTILINE)
_QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.DOTALL)
_WORD = re.compile(r"\w{4,}")
_SENTENCE = re.compile(r"[A-Z][^.!?]{40,200}[.!?]")
_MADE = re.compile(r"what is known of (.+?)\?")
_TITLE = re.compile(r"<title>\n(.*?)\n</title>", re.DOTALL)
_GRADED = re.compile(r"^<((gold|rubric|answer)\w*)>\n(.*?)\n</\1>", re.DOTALL | re.MULTILINE)
_TOLD = re.compile(r"\w{3,}")
_ASKED_WORDS, _ENOUGH = 3, 0.6
_FENCED = re.compile(r"<(document|section)>\n(.*?)\n</\1>", re.DOTALL)

_CALCULATIONS = {"percentage points": ("a - b", {"a": "27.4", "b": "23.1"}, "4.3")}
"""Formula, operands and result of a calculation, by words of its statement."""
_QUERIES = {
    "margin": ["gross margin 2023 causes energy pulp freight", "price increases packaging agreed"],
    "terminate": ["termination for convenience notice fee"],
}
_MARGINS = "Gross margin fell to 23.1 per cent, from 27.4 per cent in 2022."
_STATEMENTS: dict[str, Sequence[tuple[str, Sequence[str]]]] = {
    "Quillmere": (
        (
            "Quillmere's gross margin fell to 40.2 percent in 2023, from 44.1 percent in 2022.",
            ["Gross margin was 40.2 percent, compared with 44.1 percent in 2022."],
        ),
        (
            "Circuit boards from brokers cost $9.7 million more.",
            ["we bought circuit boards from brokers, which cost $9.7 million more."],
        ),
        (
            "Devices of Ferrant Acoustics have a lower margin than meters.",
            ["Devices of Ferrant Acoustics have a lower margin than our meters."],
        ),
    ),
    "leave": (
        (
            "Up to five days of leave can be carried into the next year, until the end of March.",
            ["Up to five days can be carried into the next year; they lapse at the end of March."],
        ),
    ),
    "percentage points": (
        ("The gross margin fell by 4.3 percentage points in 2023.", [_MARGINS]),
        (
            "Freight from Ostrava cost 0.7 million more.",  # a mistake: it was 0.6 million
            ["Freight from Ostrava cost 0.6 million more"],
        ),
    ),
    "margin": (
        (
            "The gross margin fell to 23.1 per cent in 2023, from 27.4 per cent in 2022.",
            ["Gross margin fell to 23.1 per cent, from 27.4 per cent in 2022."],
        ),
        (
            "Energy cost 3.2 million more, pulp 1.1 million and freight from Ostrava 0.6 million.",
            [
                "Energy cost 3.2 million more than in the year before.",
                "Pulp cost 1.1 million more.",
                "Freight from Ostrava cost 0.6 million more",
            ],
        ),
        (
            "Price increases agreed in October bring back about half of this in 2024.",
            [
                "Price increases for packaging, agreed in October, bring back about half of this "
                "in 2024."
            ],
        ),
    ),
    "terminate": (
        (
            "The buyer may terminate for convenience with six months' notice.",
            ["The Buyer may terminate for convenience with six months' notice."],
        ),
    ),
}

_REPORTED: dict[str, Sequence[tuple[str, str]]] = {
    "liability": (
        (
            "The liability of each party in a contract year is limited to the price of the goods "
            "delivered in twelve months.",
            "The liability of each party in a contract year is limited to the price of the Goods "
            "delivered in the twelve months before the claim, except for death, injury and fraud.",
        ),
        (
            "The liability of the contractor is limited to 250,000 for each event.",
            "The liability of the Contractor is limited to 250,000 for each event.",
        ),
    ),
}
"""Statements about single documents, each with its quote, by the last word of the question."""


def capable_server() -> ScriptedServer:
    """Return a server that is not started yet."""
    return ScriptedServer(capable_reply)


def capable_reply(received: Received) -> Reply:
    """Return the answer to a request, in the form of a chat server."""
    text = _said(received.instructions, received.prompt)
    return chat(text, input_tokens=1_200, output_tokens=len(text) // 4, model="gpt-5-mini")


def capable_answer(request: ModelRequest) -> str:
    """Return the same answer to a request that crosses no wire: for `ScriptedModel`."""
    return _said(request.instructions, f"{request.shared}\n{request.prompt}")


def _said(instructions: str, prompt: str) -> str:
    answered = next((make for told, make in _TASKS if instructions.startswith(told)), None)
    return "I do not know this task." if answered is None else json.dumps(answered(prompt))


def _title(said: str) -> Form:
    return {"title": _body(said).strip().partition("\n")[0].strip("# ")}


def _summary(what: str) -> Callable[[str], Form]:
    return lambda said: {"summary": f"This {what} is about: {_first_words(said)}"}


def _queries(said: str) -> Form:
    asked = _QUESTION.findall(said)[-1]
    queries = next((_QUERIES[word] for word in _QUERIES if word in asked), [asked])
    return {"standalone": "", "queries": queries, "conditions": []}


def _body(said: str) -> str:
    found = _FENCED.search(said)
    return found.group(2) if found else said


def _first_words(said: str) -> str:
    lines = [line for line in _body(said).splitlines() if line and not line.startswith("#")]
    return " ".join(" ".join(lines).split()[:20]) + "."


def _sections(said: str) -> Form:
    lines = [(int(number), line) for number, line in _LINE.findall(said)]
    starts = [(number, line.strip("# ")) for number, line in lines if line.startswith("#")]
    starts = starts or [(lines[0][0], lines[0][1][:60] or "Text")]
    return {
        "sections": [
            {"first_line": number, "title": title, "summary": f"This section is about: {title}."}
            for number, title in starts
        ]
    }


def _ratings(said: str) -> Form:
    passages = _PASSAGE.findall(said)
    asked = set(_WORD.findall(_PASSAGE.sub("", said).lower()))
    return {
        "ratings": [
            {
                "passage": int(number),
                "score": min(10, 2 * len(asked & set(_WORD.findall(text.lower())))),
            }
            for number, _, text in passages
        ]
    }


def _answered(said: str) -> Form:
    segments = [(int(number), text) for number, text in _SEGMENT.findall(said)]
    asked = said.rpartition("The question is: ")[2]
    known = next((_STATEMENTS[word] for word in _STATEMENTS if word in asked), ())
    known = known or _found_for(asked, segments)
    statements = [
        {
            "text": text,
            "quotes": [_placed(quote, segments) for quote in quotes],
            "calculation": _calculation(text, quotes, segments),
        }
        for text, quotes in known
    ]
    return {
        "working": "The question needs the annual report of 2023.",
        "answered": bool(statements),
        "statements": statements,
        "conflicts": [],
        "assumed": "",
        "missing": "",
    }


def _calculation(
    text: str, quotes: Sequence[str], segments: Sequence[tuple[int, str]]
) -> Form | None:
    """Return the calculation of a statement; its operands are in the first quote."""
    given = next((_CALCULATIONS[words] for words in _CALCULATIONS if words in text), None)
    if given is None:
        return None
    formula, values, result = given
    operands = [
        {"name": name, "value": value, **_placed(quotes[0], segments)}
        for name, value in values.items()
    ]
    return {"formula": formula, "operands": operands, "result": result}


def _found_for(
    asked: str, segments: Sequence[tuple[int, str]]
) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the first sentence that holds all that a made question asks for."""
    about = _MADE.search(asked)
    if about is None:
        return ()
    wanted = about.group(1).split(", ")
    sentences = [one for _, text in segments for one in _sentences(text.partition("\n")[2])]
    held = next((one for one in sentences if all(word in one for word in wanted)), None)
    return () if held is None else ((held, [held]),)


def _reported(said: str) -> Form:
    """Report the known statement, or the first sentence with the last word of the question."""
    asked = said.rpartition("The question is: ")[2]
    word = _WORD.findall(asked)[-1].lower()
    segments = [(int(number), text) for number, text in _SEGMENT.findall(said)]
    if word in _REPORTED:
        return _known_report(_REPORTED[word], segments)
    sentences = [one for _, text in segments for one in _sentences(text.partition("\n")[2])]
    held = next((one for one in sentences if word in one.lower()), None)
    quotes = [] if held is None else [{"quote": held, "source": 1}]
    return {
        "working": "",
        "verdict": "yes" if quotes else "not stated",
        "value": "",
        "statements": [{"text": held, "quotes": quotes}] if quotes else [],
    }


def _known_report(known: Sequence[tuple[str, str]], segments: Sequence[tuple[int, str]]) -> Form:
    """Report the first known statement whose quote is in the document."""
    read = " ".join(word for _, text in segments for word in text.split())
    found = next(((text, quote) for text, quote in known if quote in read), None)
    statements = (
        [] if found is None else [{"text": found[0], "quotes": [_placed(found[1], segments)]}]
    )
    verdict = "yes" if statements else "not stated"
    return {"working": "", "verdict": verdict, "value": "", "statements": statements}


def _question(said: str) -> Form:
    """Ask for the longest words of the sentence with most of them; its answer is the sentence."""
    title = _TITLE.findall(said)[-1]
    sentences = [one for one in _sentences(_part(said)) if len(_about(one)) == _ASKED_WORDS]
    if not sentences:
        return {"usable": False, "question": "", "answer": "", "quotes": []}
    best = max(sentences, key=len)
    question = f"By {title}, what is known of {', '.join(_about(best))}?"
    return {"usable": True, "question": question, "answer": best, "quotes": [best]}


def _part(said: str) -> str:
    """Return the text that a question is made of."""
    return next(str(text) for name, text in _FENCED.findall(said) if name == "document")


def _unanswerable(said: str) -> Form:
    title = _TITLE.findall(said)[-1]
    return {"question": f"By {title}, which auditor of {_about(_part(said))[0]} resigned in 1987?"}


def _sentences(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith(("#", "|", "<"))]
    return [" ".join(one.split()) for one in _SENTENCE.findall(" ".join(lines))]


def _about(sentence: str) -> list[str]:
    words = sorted(set(_WORD.findall(sentence)), key=lambda word: (-len(word), word))
    return words[:_ASKED_WORDS]


def _grade(said: str) -> Form:
    """Grade by the words of the right answer, or of the rubric, that the answer holds."""
    parts = {name: text for _, name, text in _GRADED.findall(said)}
    known = set(_TOLD.findall(parts.get("rubric", parts.get("gold", "")).lower()))
    held = known & set(_TOLD.findall(parts["answer"].lower()))
    share = len(held) / max(1, len(known))
    reason = f"It holds {len(held)} of {len(known)} words."
    if "rubric" in parts:
        return {"reason": reason, "score": round(10 * share)}
    return {"reason": reason, "verdict": "correct" if share > _ENOUGH else "incorrect"}


def _placed(quote: str, segments: Sequence[tuple[int, str]]) -> Form:
    flat = " ".join(quote.split())
    at = [number for number, text in segments if flat in " ".join(text.split())]
    return {"quote": quote, "source": at[0] if at else 1}


_TASKS: Sequence[tuple[str, Callable[[str], Form]]] = (
    ("You divide a document", _sections),
    ("You give documents their titles", _title),
    ("You write what stands before the parts of a document", _summary("document")),
    ("You write what stands before the parts of a section", _summary("section")),
    ("You write the queries", _queries),
    ("You rate how well passages", _ratings),
    ("You answer a question", _answered),
    ("You read segments of one document", _reported),
    ("You write questions by which a search engine", _question),
    ("You write questions by which it is tested", _unanswerable),
    ("You grade the answer", _grade),
)
"""How the instructions of a task begin, and what makes the answer from its prompt."""
