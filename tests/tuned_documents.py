"""Documents whose titles mislead: what a question names is answered in another document."""

from __future__ import annotations

import random

from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.knowledge_base import KnowledgeBase

__all__ = [
    "misleading_base",
    "misleading_questions",
    "misleading_texts",
    "scattered_questions",
    "scattered_texts",
]

_NAMES = """
    Abernathy Birchwood Calloway Dunmore Ellsworth Fairbanks Garrison Hawthorne Ingleside Jamieson
    Kensington Lockhart Merriweather Northrop Okanagan Pemberton Quillfeather Ravenscroft Stanhope
    Thornbury Underhill Vandermeer Whitcombe Yarborough
""".split()
_THINGS = """
    valve turbine furnace conveyor gasket boiler compressor manifold rotor spindle bearing flange
    gearbox impeller nozzle pulley regulator sensor thermostat winch actuator damper governor piston
""".split()
_WORDS = """
    the of work on was and in site crew at for plan with report week from area shift record
    materials during inspection maintenance schedule delivered checked agreed later morning
""".split()


def misleading_texts() -> dict[str, tuple[str, int, int]]:
    """Return the text of each document by name, with what stands in it of another's answer."""
    chance = random.Random(7)
    texts: dict[str, tuple[str, int, int]] = {}
    for at, name in enumerate(_NAMES):
        other = (at + 7) % len(_NAMES)
        told = (
            f"The {_THINGS[other]} was set to {20 + at} degrees because {_NAMES[other]} had asked "
            f"for it, and the crew wrote down how the {_THINGS[other]} behaved until the evening.\n"
        )
        parts = [_sentence(chance, name) for _ in range(40)]
        for place in range(0, 40, 6):
            parts[place] = (
                f"The {_THINGS[at]} of {name} was set aside, as somebody else was to say to what "
                f"it should be set one day.\n"
            )
        parts[10 + at % 20] = told
        text = "".join(parts)
        start = text.index(told)
        texts[name] = (text, start, start + len(told))
    return texts


def _sentence(chance: random.Random, name: str) -> str:
    words = [chance.choice(_WORDS) for _ in range(chance.randrange(12, 24))]
    if chance.random() < 0.3:
        words.insert(3, name)
    return " ".join(words).capitalize() + ".\n"


def misleading_base() -> KnowledgeBase:
    """Return a knowledge base in memory that holds them, searched by words."""
    base = KnowledgeBase(":memory:", embedder=None, packs=())
    for name, (text, _, _) in misleading_texts().items():
        base.add_text(text, document_id=f"{name}.txt", title=f"{name} works")
    return base


def misleading_questions() -> list[LabelledQuestion]:
    """Return a question for each document, answered in another one."""
    found = []
    for at, (name, (_, start, end)) in enumerate(misleading_texts().items()):
        other = (at + 7) % len(_NAMES)
        found.append(
            LabelledQuestion(
                id=str(at),
                text=f"To what was the {_THINGS[other]} of {_NAMES[other]} works set?",
                evidence=(Evidence(document_id=f"{name}.txt", start=start, end=end),),
            )
        )
    return found


def scattered_texts() -> dict[str, tuple[str, list[tuple[int, int]]]]:
    """Return the text of each document by name, with the lines that tell of its thing."""
    chance = random.Random(11)
    texts: dict[str, tuple[str, list[tuple[int, int]]]] = {}
    for name, thing in zip(_NAMES[:12], _THINGS, strict=False):
        told = [
            f"The {thing} of {name} {what} in the {when} shift.\n"
            for what, when in (
                ("was cleaned with oil", "first"),
                ("had to be cooled", "second"),
                ("ran without a stop", "third"),
                ("lost some pressure", "last"),
            )
        ]
        parts = [_sentence(chance, "somebody") for _ in range(40)]
        for at, line in enumerate(told):
            parts[4 + 9 * at] = line
        text = "".join(parts)
        places = [(text.index(line), text.index(line) + len(line)) for line in told]
        texts[name] = (text, places)
    return texts


def scattered_questions() -> list[LabelledQuestion]:
    """Return a question for each document, answered by lines that stand apart."""
    return [
        LabelledQuestion(
            id=name,
            text=f"What happened to the {thing} of {name} in each shift?",
            evidence=tuple(
                Evidence(document_id=f"{name}.txt", start=start, end=end) for start, end in places
            ),
        )
        for (name, (_, places)), thing in zip(scattered_texts().items(), _THINGS, strict=False)
    ]
