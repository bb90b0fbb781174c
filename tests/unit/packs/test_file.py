"""Packs as text: what is refused, and how it is said."""

from __future__ import annotations

import json

import pytest
from tests.reports import LEASES

from spanwise.errors import OptionError, PackError
from spanwise.packs.pack_file import (
    MAX_BYTES,
    NamedPack,
    pack_record,
    read_pack,
    recorded_packs,
    shipped_packs,
)


def test_a_pack_is_read_as_it_is_written() -> None:
    pack = read_pack(LEASES, place="leases.toml")
    assert (pack.name, pack.language) == ("leases", "en")
    assert [landmark.key for landmark in pack.landmarks] == ["rent", "end"]
    assert [landmark.name for landmark in pack.landmarks] == ["rent clause", "end"]
    assert pack.landmarks[0].items == ("monthly instalments", "late charge", "security deposit")
    assert not pack.landmarks[0].numbers
    assert pack.intents[0].names == ("rent clause",)
    assert pack.intents[1].words == ("cancel",)
    assert pack.glossary == {"late fee": ("late charge",), "landlord": ("lessor",)}
    assert pack.text == LEASES


WRONG = {
    "[landmarks": (r"leases\.toml is no TOML: .*end of document", "[landmarks"),
    "a key that is none": (
        r"leases\.toml:6: landmarks\.rent\.title is no key; give titles",
        LEASES.replace('titles = ["base', 'title = ["base'),
    ),
    "a key at the top": (
        r"leases\.toml:1: nane is no key; give name",
        LEASES.replace("name =", "nane =", 1),
    ),
    "no description": (
        r"leases\.toml:1: description is missing; give a text",
        LEASES.replace('description = "Leases of offices."', ""),
    ),
    "a name of no letters": (
        r"leases\.toml:1: name is 'Le/ases'; use small letters",
        LEASES.replace('"leases"', '"Le/ases"'),
    ),
    "a language": (
        r'leases\.toml:1: language is \'english\'; give a code such as "en"',
        'language = "english"\n' + LEASES,
    ),
    "one text for a list": (
        r"leases\.toml:5: landmarks\.rent\.titles is 'base rent'; give a list of texts",
        LEASES.replace('titles = ["base rent"]', 'titles = "base rent"').replace(
            'name = "rent clause"\n', ""
        ),
    ),
    "numbers in a list": (
        r"leases\.toml:7: landmarks\.rent\.items is \[1\]; give a list of texts",
        LEASES.replace('["monthly instalments", "late charge", "security deposit"]', "[1]"),
    ),
    "no titles": (
        r"leases\.toml:4: landmarks\.rent\.titles has 0 texts; give 1 to 200",
        LEASES.replace('titles = ["base rent"]\n', ""),
    ),
    "a phrase without a word": (
        r"leases\.toml:15: intents\.rent\.words holds '…', which has no word; leave it out",
        LEASES.replace('"how much rent"', '"…"'),
    ),
    "a long phrase": (
        r"leases\.toml:10: landmarks\.end\.titles holds 'x+\.\.\.x+', of 121 characters",
        LEASES.replace('"termination"', f'"{"x" * 121}"'),
    ),
    "an intent of nothing": (
        r"leases\.toml:17: intents\.ending has no landmark; the landmarks are rent or end",
        LEASES.replace("[intents.end]", "[intents.ending]"),
    ),
    "no landmarks": (
        r"leases\.toml:1: landmarks has 0 tables; a pack has 1 to 32 landmarks",
        'name = "x"\ndescription = "x"\n[glossary]\na = ["b"]\n',
    ),
    "a landmark that is no table": (
        r"leases\.toml:4: landmarks\.rent is 3; make a table of it",
        'name = "x"\ndescription = "x"\n[landmarks]\nrent = 3\n',
    ),
    "landmarks that are no table": (
        r"leases\.toml:3: landmarks is 3; make it a table, \[landmarks\]",
        'name = "x"\ndescription = "x"\nlandmarks = 3\n',
    ),
    "a landmark of another name": (
        r"leases\.toml:3: landmarks\.A b is no name; use small letters",
        'name = "x"\ndescription = "x"\n[landmarks."A b"]\ntitles = ["a"]\nitems = ["b"]\n',
    ),
    "a name of two landmarks": (
        r"leases\.toml:10: landmarks\.end\.name is 'rent clause', the name of another landmark",
        LEASES.replace("[landmarks.end]", '[landmarks.end]\nname = "rent clause"'),
    ),
    "a flag": (
        r"leases\.toml:5: landmarks\.rent\.numbers is 'yes'; give true or false",
        LEASES.replace('name = "rent clause"', 'numbers = "yes"'),
    ),
    "a word of the glossary": (
        r"leases\.toml:22: glossary\.landlord is 'lessor'; give a list of texts",
        LEASES.replace('landlord = ["lessor"]', 'landlord = "lessor"'),
    ),
    "a description of two lines": (
        r"leases\.toml:2: description is 'a\\nb'; give a text of one line",
        LEASES.replace('"Leases of offices."', r'"a\nb"'),
    ),
    "a huge file": (
        rf"leases\.toml is larger than {MAX_BYTES:,} bytes",
        LEASES + "#" * MAX_BYTES,
    ),
    "many words": (
        r"leases\.toml:\d+: glossary has 1001 words; give at most 1000",
        LEASES + "".join(f'word{n} = ["b"]\n' for n in range(999)),
    ),
    "a number without end": (
        r"leases\.toml:1: name is a number; give a text of one line",
        "name = 0x" + "f" * 20_000,
    ),
    "a key without end": (
        r"leases\.toml:1: 'x+\.\.\.x+' is no key; give name",
        f"{'x' * 90} = 1",
    ),
    "a dotted key without end": (
        r"leases\.toml:2: the line has 9,000 dots; at most 100",
        f"\nname{'.a' * 9_000} = 1",
    ),
    "deep nesting": (r"leases\.toml is no TOML", "a = " + "[" * 20_000),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_error_names_its_line(kind: str) -> None:
    message, text = WRONG[kind]
    with pytest.raises(PackError, match=message):
        read_pack(text, place="leases.toml")


def test_a_record_gives_the_packs_back() -> None:
    packs = [NamedPack(read_pack(LEASES, place="x"), "/packs/leases.toml"), *shipped_packs()]
    assert recorded_packs(pack_record(packs)) == tuple(packs)
    assert recorded_packs(pack_record([])) == ()


def test_packs_of_one_name_are_refused() -> None:
    packs = [NamedPack(read_pack(LEASES, place="x"), origin) for origin in "ab"]
    with pytest.raises(PackError, match="two packs have the name 'leases'; rename one of them"):
        pack_record(packs)


def test_too_many_packs_are_refused() -> None:
    packs = [
        NamedPack(read_pack(LEASES.replace('"leases"', f'"a{n}"'), place="x"), "x")
        for n in range(17)
    ]
    with pytest.raises(PackError, match="17 packs are named; use at most 16"):
        pack_record(packs)


@pytest.mark.parametrize("record", ["{", "[1]", '[{"text": "x"}]', json.dumps([{"origin": "a"}])])
def test_a_damaged_record_is_an_error(record: str) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        recorded_packs(record)


def test_shipped_packs_are_valid() -> None:
    assert [named.pack.name for named in shipped_packs()] == ["contracts", "filings"]
    for named in shipped_packs():
        assert {intent.landmark for intent in named.pack.intents} == {
            landmark.key for landmark in named.pack.landmarks
        }
