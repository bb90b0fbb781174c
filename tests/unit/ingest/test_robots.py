"""What a server forbids programs is known by the rules of RFC 9309."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.ingest.fetch import ALLOW_ALL, read_robots

RULES = """
# a comment
User-agent: other
Disallow: /

User-agent: *
Disallow: /private/   # with all in it
Allow: /private/open
Disallow: /*.pdf$
Disallow: /a*b*c
Disallow:
Crawl-delay: 10
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("", True),
        ("/private/", False),
        ("/private/x?y=1", False),
        ("/private/open/x", True),
        ("/private", True),
        ("/x/y.pdf", False),
        ("/x/y.pdf?download", True),
        ("/pdf", True),
        ("/a-b-c", False),
        ("/a-c-b", True),
        ("/%70rivate/", False),
    ],
)
def test_the_longest_rule_counts(path: str, allowed: bool) -> None:
    assert read_robots(RULES).allows(path) == allowed


def test_the_group_of_our_name_counts_alone() -> None:
    """Groups of one name are one, several names may share a group."""
    robots = read_robots(
        "User-agent: a\nUser-agent: SpanWise\nDisallow: /one\n\n"
        "User-agent: *\nDisallow: /\n\nUser-agent: spanwise\nDisallow: /two\n"
    )
    assert [robots.allows(path) for path in ("/one", "/two", "/three")] == [False, False, True]


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("spanwise/1.0", True),
        ("Spanwise 1.0 (+https://example.org)", True),
        ("spanwise-images", False),
        ("other spanwise", False),
    ],
)
def test_the_product_token_of_a_name_counts(name: str, is_ours: bool) -> None:
    robots = read_robots(f"User-agent: {name}\nDisallow: /private\n")
    assert robots.allows("/private/x") == (not is_ours)


def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    robots = read_robots("\ufeffUser-agent: *\nDisallow: /private\n")
    assert not robots.allows("/private/x")


def test_an_empty_group_of_our_name_allows_everything() -> None:
    robots = read_robots("User-agent: *\nDisallow: /\n\nUser-agent: spanwise\nDisallow:\n")
    assert robots.allows("/x")


def test_of_two_rules_of_one_length_the_one_that_allows_counts() -> None:
    robots = read_robots("User-agent: *\nDisallow: /x\nAllow: /x\n")
    assert robots.allows("/x")


def test_an_end_is_the_end() -> None:
    robots = read_robots("User-agent: *\nDisallow: /x$\nDisallow: /y*z*z$\n")
    allowed = [robots.allows(path) for path in ("/x", "/xx", "/yz", "/yzz", "/yzaz", "/yzazb")]
    assert allowed == [False, True, True, False, False, True]


@pytest.mark.parametrize("text", ["", "<html>no such page</html>", "Disallow: /", "\x00\xff:\n:"])
def test_what_is_no_such_file_forbids_nothing(text: str) -> None:
    assert read_robots(text) == ALLOW_ALL
    assert ALLOW_ALL.allows("/x")


@given(
    st.lists(st.sampled_from(["a", "*", "$", "/", "b"]), max_size=40), st.text("ab/", max_size=60)
)
def test_patterns_match_as_regular_expressions_would(pattern: list[str], path: str) -> None:
    """Also with many stars, where those would take very long."""
    body = "/" + "".join(pattern).replace("$", "")
    ends = bool(pattern) and pattern[-1] == "$"
    expression = ".*".join(map(re.escape, re.sub(r"\*+", "*", body).split("*")))
    matches = re.match(expression + ("$" if ends else ""), "/" + path) is not None
    robots = read_robots(f"User-agent: *\nDisallow: {body}{'$' if ends else ''}\n")
    assert robots.allows("/" + path) != matches
