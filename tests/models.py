"""Answers of scripted language models for what is made of documents."""

from __future__ import annotations

import json
import re

from spanwise.models.ports import ModelRequest

__all__ = ["made_answer"]


def made_answer(request: ModelRequest) -> str:
    """Return a usable answer that says for what task it is."""
    if request.task == "title":
        return json.dumps({"title": "Made title"})
    if request.task == "summary":
        return json.dumps({"summary": "This document is about: what was made."})
    if request.task == "section summaries":
        return json.dumps({"summary": "This section is about: what was made."})
    if request.task in ("sections", "section seams"):
        section = {"first_line": 1, "title": "Made section"}
        if "summary" in request.instructions:
            section["summary"] = "This section is about: what was made."
        return json.dumps({"sections": [section]})
    if request.task == "chunk contexts":
        count = len(re.findall(r"^Chunk \d+:$", request.prompt, re.MULTILINE))
        contexts = [{"chunk": n, "context": f"Context {n} made."} for n in range(1, count + 1)]
        return json.dumps({"contexts": contexts})
    return request.typical
