"""The page as text; its behaviour is tested in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.explanations import QUESTION, filled_base

from spanwise import KnowledgeBase, SegmentOptions
from spanwise.search.explanation import Explanation


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with filled_base() as base:
        yield base


@pytest.fixture(scope="module")
def explanation(base: KnowledgeBase) -> Explanation:
    return base.explain(QUESTION, budget_tokens=600)


def data_of(page: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert not set("<>&") & set(text)
    return json.loads(text)


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_its_policy_allows_its_own_script_and_style_alone(explanation: Explanation) -> None:
    page = explanation.to_html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src '{digest(style)}'",
        f"script-src '{digest(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_it_names_no_address(explanation: Explanation) -> None:
    addresses = set(re.findall(r"[a-z]+://[^\s\"'`)]+", explanation.to_html()))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG, which nothing fetches


def test_the_same_question_gives_the_same_bytes(
    base: KnowledgeBase, explanation: Explanation
) -> None:
    assert base.explain(QUESTION, budget_tokens=600).to_html() == explanation.to_html()


def test_it_contains_the_choice_and_its_terms(explanation: Explanation) -> None:
    data = data_of(explanation.to_html())
    result, terms = explanation.result, explanation.terms
    assert data["question"] == QUESTION
    assert data["terms"]["header"] == terms.header_tokens
    assert data["terms"]["price"] == terms.token_price
    shares = [share for one in explanation.documents for run in one.runs for share in run.shares]
    assert sorted(data["shares"]) == sorted(shares)  # unrounded, or the choice might differ
    assert data["edges"][-1] == len(shares) == len(data["tokens"])
    sizes = [segment["rows"][1] - segment["rows"][0] for segment in data["segments"]]
    assert sizes == [one.last_chunk - one.first_chunk for one in result.segments]


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&lt;", "\u2028", "{{style}}"])
def test_no_text_ends_the_data(text: str) -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(f"Gross margin {text} fell.", document_id="a", title=f"T {text} x")
        options = SegmentOptions(token_price=0.0)
        page = base.explain(f"gross margin {text}", segment_options=options).to_html()
    plain = KnowledgeBase(":memory:").explain("gross margin").to_html()
    assert page.count("<script") == plain.count("<script") == 2
    data = data_of(page)
    assert data["documents"][0]["title"].split() == f"T {text} x".split()
    assert text in data["candidates"][0]["text"]


def test_invalid_characters_are_replaced(explanation: Explanation) -> None:
    result = replace(explanation.result, question="why\udc80")
    page = replace(explanation, result=result).to_html()
    assert data_of(page.encode("utf-8").decode("utf-8"))["question"] == "why?"


@pytest.mark.slow
def test_long_texts_are_cut_so_that_it_stays_under_a_megabyte() -> None:
    with KnowledgeBase(":memory:") as base:
        for number in range(3):
            lines = (f"毛利率下降的原因是运费上涨，第{n}段。" + "运费" * 150 for n in range(600))
            base.add_text("\n\n".join(lines), document_id=str(number), title="标题" * 400)
        explanation = base.explain("毛利率 gross margin 600")
    page = explanation.to_html()
    assert len(page.encode("utf-8")) < 1_000_000
    data = data_of(page)
    assert data["unlisted"] > 0
    assert len(data["documents"][0]["title"]) == 200


def test_limits_of_a_result_are_warnings() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("Gross margin of the mill fell.", document_id="a")
        data = data_of(base.explain(QUESTION, method="greedy", preset="dsrag-balanced").to_html())
    said = " ".join(data["notices"])
    assert "greedy method" in said
    assert "searched by keywords alone" in said


def test_weak_evidence_is_marked(explanation: Explanation) -> None:
    weak = replace(explanation, result=replace(explanation.result, weak_evidence=True))
    sure = replace(explanation, result=replace(explanation.result, weak_evidence=False))
    assert "The evidence is weak" in " ".join(data_of(weak.to_html())["notices"])
    assert data_of(sure.to_html())["notices"] == []
