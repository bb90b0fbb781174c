"""Under which key an answer is kept."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from pydantic import BaseModel

from spanwise.models.caller import request_key
from spanwise.models.ports import ModelRequest


class Form(BaseModel):
    title: str


class OtherForm(BaseModel):
    title: int


REQUEST = ModelRequest(
    task="titles",
    instructions="Write a title.",
    prompt="<text>\nabc\n</text>",
    shared="<document>\nabc\n</document>",
    answer=Form,
    images=(b"picture",),
    max_output_tokens=100,
    typical="{}",
)
OTHERS = {
    "instructions": replace(REQUEST, instructions="Write a summary."),
    "prompt": replace(REQUEST, prompt="<text>\nabd\n</text>"),
    "shared": replace(REQUEST, shared=""),
    "answer": replace(REQUEST, answer=OtherForm),
    "images": replace(REQUEST, images=(b"another",)),
    "max_output_tokens": replace(REQUEST, max_output_tokens=200),
    "temperature": replace(REQUEST, temperature=0.5),
}


def test_all_that_an_answer_depends_on_is_in_its_key() -> None:
    assert {field.name for field in fields(ModelRequest)} == {*OTHERS, "task", "typical"}


@pytest.mark.parametrize("name", OTHERS)
def test_another_request_has_another_key(name: str) -> None:
    assert request_key("a:b", OTHERS[name]) != request_key("a:b", REQUEST)


def test_another_model_has_another_key() -> None:
    assert request_key("a:c", REQUEST) != request_key("a:b", REQUEST)


def test_text_that_moves_between_parts_makes_another_key() -> None:
    moved = replace(REQUEST, shared=REQUEST.shared + "x", prompt=REQUEST.prompt[1:])
    other = replace(REQUEST, prompt=f"x{REQUEST.prompt[1:]}")
    assert request_key("a:b", moved) != request_key("a:b", other)


def test_task_and_typical_answer_do_not_count() -> None:
    other = replace(REQUEST, task="summaries", typical="")
    assert request_key("a:b", other) == request_key("a:b", REQUEST)
