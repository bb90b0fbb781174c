"""What a server asks programs not to fetch: robots.txt, as RFC 9309 has it.

Rules
    1. The group that names us counts, else that of "*"; groups of one name are one.
    2. Of the rules that match a path the longest counts, and of two of one length the one that
       allows. Without a rule everything may be fetched.
    3. A pattern may hold "*", for any characters, and "$" at its end, for the end of the path. It
       is matched piece by piece, not as a regular expression, which a server could make slow.
    4. The answer to /robots.txt that is no file (4xx) allows everything, a server that fails (5xx)
       or cannot be reached forbids everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

__all__ = ["ALLOW_ALL", "MAX_ROBOTS_BYTES", "Robots", "read_robots"]

MAX_ROBOTS_BYTES = 512_000
"""What is read of it; the rest is ignored, as the RFC permits."""

_OUR_NAME = "spanwise"
_UNRESERVED = "/?#[]@!$&'()*+,;=:-._~"


@dataclass(frozen=True, slots=True)
class _Rule:
    pieces: tuple[str, ...]
    """Between the stars."""
    to_the_end: bool
    allows: bool
    length: int

    def matches(self, path: str) -> bool:
        first, *others = self.pieces
        if not path.startswith(first):
            return False
        at = len(first)
        if self.to_the_end and others:
            last = others.pop()
            if len(path) - len(last) < at or not path.endswith(last):
                return False
            path = path[: len(path) - len(last)]
        elif self.to_the_end:
            return len(path) == at
        for piece in others:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return True


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one server that concern us."""

    rules: tuple[_Rule, ...]

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be fetched."""
        path = _normal(target or "/")
        matching = [rule for rule in self.rules if rule.matches(path)]
        best = max(matching, key=lambda rule: (rule.length, rule.allows), default=None)
        return best is None or best.allows


ALLOW_ALL = Robots(())


def read_robots(text: str) -> Robots:
    """Return the rules of a robots.txt that concern us."""
    ours: list[_Rule] = []
    general: list[_Rule] = []
    is_named = names_us = names_all = False
    collecting_names = False
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if not collecting_names:
                names_us = names_all = False
            collecting_names = True
            names_us = names_us or value.lower() == _OUR_NAME
            names_all = names_all or value == "*"
            is_named = is_named or names_us
        elif key in ("allow", "disallow"):
            collecting_names = False
            if value:
                rule = _rule(value, allows=key == "allow")
                ours += [rule] * names_us
                general += [rule] * names_all
    return Robots(tuple(ours if is_named else general))


def _rule(pattern: str, *, allows: bool) -> _Rule:
    body = pattern.removesuffix("$")
    pieces = tuple(_normal(piece) for piece in body.split("*"))
    return _Rule(pieces, to_the_end=body != pattern, allows=allows, length=len(pattern))


def _normal(path: str) -> str:
    """Return a path with one spelling of each character: "%7e" and "~" are the same."""
    return quote(unquote_to_bytes(path), safe=_UNRESERVED)
