"""Four small contracts, and a model that reports what each of them says about termination."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from spanwise import KnowledgeBase
from spanwise.errors import ModelError
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel

__all__ = ["CONTRACTS", "QUESTION", "add_contracts", "document_of", "reader", "report"]

QUESTION = "Which contracts allow termination for convenience?"
CONTRACTS = {
    "harbour": "# Harbour lease\n\nThe tenant may terminate for convenience on notice.\n",
    "mill": "# Mill supply agreement\n\nNeither party may terminate for convenience.\n",
    "quarry": "# Quarry licence\n\nThe licensee pays 4,000 dollars a year, due in March.\n",
    "vessel": "# Vessel charter\n\nEither party may terminate for convenience at any time.\n",
}
_DOCUMENT = re.compile(r'<segment\w* number="1"[^>]* document="([^"]*)"')
_SENTENCE = re.compile(r"[^.\n]*terminate for convenience[^.\n]*\.")


def add_contracts(base: KnowledgeBase) -> None:
    """Add the contracts to a knowledge base."""
    for name, text in CONTRACTS.items():
        base.add_text(text, document_id=name, media_type="text/markdown", metadata={"name": name})


def document_of(request: ModelRequest) -> str:
    """Return the id of the document that a request shows."""
    found = _DOCUMENT.search(request.prompt)
    return found.group(1) if found else ""


def report(verdict: str, *quotes: str, text: str = "It says so.", value: str = "") -> str:
    """Return a report about a document as a model gives it, with one statement for the quotes."""
    given = [{"quote": quote, "source": 1} for quote in quotes]
    statements = [{"text": text, "quotes": given}] if quotes else []
    form = {"working": "", "verdict": verdict, "value": value, "statements": statements}
    return json.dumps(form)


def reader(**replies: str | ModelError | Callable[[ModelRequest], str]) -> ScriptedModel:
    """Return a model that reads contracts; `replies` replace its reports by document id."""

    def answer(request: ModelRequest) -> str:
        if request.task == "queries":
            queries = ["ends without a reason at any time"]
            return json.dumps({"standalone": "", "queries": queries, "conditions": []})
        name = document_of(request)
        reply = replies.get(name)
        if isinstance(reply, ModelError):
            raise reply
        if callable(reply):
            return reply(request)
        if reply is not None:
            return reply
        found = _SENTENCE.search(request.prompt)
        if found is None:
            return report("not stated")
        quote = found.group().strip()
        return report("no" if "Neither" in quote else "yes", quote, text=f"{name}: {quote}")

    return ScriptedModel(answer)
