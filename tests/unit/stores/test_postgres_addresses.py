"""Addresses of knowledge bases in PostgreSQL."""

import pytest

from spanwise.errors import OptionError
from spanwise.stores.postgres.address import parse_address
from spanwise.stores.postgres.store import open_postgres


def test_an_address_has_a_schema_and_a_tenant() -> None:
    """Parameters of Spanwise are taken out; those of libpq stay in the connection string."""
    address = parse_address(
        "postgresql://me@db:6432/reports?schema=legal%20team&tenant=a%26b&sslmode=require"
        "&connections=4"
    )
    assert (address.schema, address.tenant, address.connections) == ("legal team", "a&b", 4)
    assert address.conninfo == "postgresql://me@db:6432/reports?sslmode=require"
    assert address.name == "postgresql://me@db:6432/reports?schema=legal%20team&tenant=a%26b"


def test_a_short_address_has_defaults() -> None:
    """The schema is `spanwise`; host, user and database may be left to libpq."""
    address = parse_address("postgres:///")
    assert (address.schema, address.tenant, address.conninfo) == ("spanwise", "", "postgresql:///")
    hosts = parse_address("postgresql://one:1,two:2/reports")
    assert hosts.conninfo == "postgresql://one:1,two:2/reports"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:top-secret@db/reports",
        "postgresql://me@db/reports?password=top-secret",
        "postgresql://me:top%2Dsecret@db/reports",
        "postgresql://db/reports?sslpassword=top-secret&schema=legal",
    ],
)
def test_a_password_is_in_no_text_about_the_address(text: str) -> None:
    """Neither `repr` nor `str` nor a cleaned message has the password."""
    address = parse_address(text)
    message = address.without_secrets(f"cannot use {text}: top-secret is refused")
    for shown in (repr(address), str(address), address.name, message):
        assert "secret" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "reports.kb",
        "mysql://db/reports",
        "postgresql:",
        "postgresql://me:top/secret@db/reports",
        "postgresql://me:top#secret@db/reports",
        "postgresql://me:topsecret@db/reports?schema=",
        "postgresql://me:topsecret@db/reports?schema=pg_catalog",
        "postgresql://me:topsecret@db/reports?schema=information_schema",
        "postgresql://me:topsecret@db/reports?schema=legal_rebuild",
        "postgresql://me:topsecret@db/reports?schema=" + "x" * 56,
        "postgresql://me:topsecret@db/reports?schema=a%00b",
        "postgresql://me:topsecret@db/reports?schema=a$$b",
        "postgresql://me:topsecret@db/reports?tenant=a%00b",
        "postgresql://me:topsecret@db/reports?connections=1",
        "postgresql://me:topsecret@db/reports?connections=many",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(text: str) -> None:
    """The message does not repeat the password."""
    with pytest.raises(OptionError) as raised:
        parse_address(text)
    assert "secret" not in str(raised.value)


def test_the_scheme_of_an_address_is_recognised() -> None:
    """Both schemes of libpq are known, in any case."""
    for text in ("postgresql://db/reports", "postgres://db/reports", "PostgreSQL://db/reports"):
        assert parse_address(text).name == "postgresql://db/reports"
    for text in ("postgresql", "postgresql:/a", "reports.kb", "C:\\postgres"):
        with pytest.raises(OptionError):
            parse_address(text)


def test_a_mistyped_parameter_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(OptionError, match=r'"shema".* give schema, tenant') as raised:
        open_postgres("postgresql://me:top-secret@db/reports?shema=legal")
    assert "secret" not in str(raised.value)
