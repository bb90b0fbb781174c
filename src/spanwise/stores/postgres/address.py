"""Addresses of knowledge bases in PostgreSQL.

::

    postgresql://user:password@host:5432/database?schema=legal&tenant=acme&sslmode=verify-full

`schema`, `tenant`, `connections` and `cache` belong to Spanwise. All other parameters, and
the environment variables such as PGPASSWORD, are those of libpq.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from spanwise.errors import OptionError

STAGED_SUFFIX = "_rebuild"
"""Suffix of the name of the schema in which a rebuild is prepared."""

_SCHEMES = ("postgresql", "postgres")
_DEFAULT_SCHEMA = "spanwise"
_DEFAULT_CONNECTIONS = 16
_MAX_NAME_BYTES = 63 - len(STAGED_SUFFIX)  # PostgreSQL truncates longer names without an error
_SECRETS = ("password", "sslpassword", "passfile", "oauth_client_secret")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PostgresAddress:
    """Address of one knowledge base, with the credentials for its server."""

    conninfo: str
    """Connection string for libpq, which may contain a password."""
    name: str
    """Address without passwords, for messages and reports."""
    schema: str = _DEFAULT_SCHEMA
    """Schema with the tables of the knowledge base."""
    tenant: str = ""
    """Tenant whose documents are visible; empty for no restriction."""
    connections: int = _DEFAULT_CONNECTIONS
    """Maximum number of open connections of this process."""
    cache: str = ""
    """Folder in which the processes of a machine share the quantised vectors; empty for none."""
    secrets: tuple[str, ...] = field(default=())
    """Passwords of the connection string, which no message may contain."""

    def __repr__(self) -> str:
        return f"PostgresAddress({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def without_secrets(self, message: str) -> str:
        """Return a message in which passwords are replaced by ***."""
        for secret in self.secrets:
            message = message.replace(secret, _HIDDEN)
        return message


class _Parts(NamedTuple):
    """Parts of an address as written, before decoding."""

    user: str
    password: str
    hosts: str
    database: str
    query: list[tuple[str, str]]


def parse_address(text: str) -> PostgresAddress:
    """Return the parts of an address; no connection is made.

    Raises:
        OptionError: If the address is malformed. The message contains no password.
    """
    parts = _split(text)
    own = {
        "schema": _DEFAULT_SCHEMA,
        "tenant": "",
        "connections": str(_DEFAULT_CONNECTIONS),
        "cache": "",
    }
    query: list[tuple[str, str]] = []
    for key, value in parts.query:
        if key in own:
            own[key] = value
        else:
            query.append((key, value))
    secrets = {parts.password, unquote(parts.password)}
    secrets |= {value for key, value in query if key in _SECRETS}
    login = parts.user + (f":{parts.password}" if parts.password else "")
    base = f"{parts.hosts}/{parts.database}"
    conninfo = f"postgresql://{login}@{base}" if login else f"postgresql://{base}"
    if query:
        conninfo += "?" + urlencode(query, quote_via=quote)
    shown = [
        (key, own[key]) for key in ("schema", "tenant") if own[key] not in ("", _DEFAULT_SCHEMA)
    ]
    name = f"postgresql://{parts.user}@{base}" if parts.user else f"postgresql://{base}"
    if shown:
        name += "?" + urlencode(shown, quote_via=quote)
    return PostgresAddress(
        conninfo=conninfo,
        name=name,
        schema=_checked_schema(own["schema"], name=name),
        tenant=_checked_tenant(own["tenant"]),
        connections=_checked_connections(own["connections"]),
        cache=_checked_cache(own["cache"]),
        secrets=tuple(sorted(secrets - {""}, key=len, reverse=True)),
    )


def _split(text: str) -> _Parts:
    scheme, _, rest = text.partition("://")
    if scheme.lower() not in _SCHEMES or not rest:
        raise OptionError(
            "the address does not name a database; give "
            "postgresql://user@host:port/database?schema=name"
        )
    place, _, query = rest.partition("?")
    if "#" in rest:
        raise OptionError(
            "the address of a PostgreSQL database contains '#'; write it as %23 in a password or "
            "name"
        )
    login, at, location = place.rpartition("@")
    user, _, password = login.partition(":") if at else ("", "", "")
    hosts, _, database = location.partition("/")
    if "/" in database or "/" in login:
        raise OptionError(
            "the address of a PostgreSQL database has more than one '/' after the host; write it "
            "as %2F in a password or name"
        )
    return _Parts(user, password, hosts, database, parse_qsl(query, keep_blank_values=True))


def _checked_schema(schema: str, *, name: str) -> str:
    size = len(schema.encode(errors="replace"))
    is_reserved = schema.startswith("pg_") or schema == "information_schema"
    is_clean = re.fullmatch(r"[^\x00-\x1f$\x7f\ud800-\udfff]+", schema) is not None
    if not is_clean or size > _MAX_NAME_BYTES or is_reserved or schema.endswith(STAGED_SUFFIX):
        raise OptionError(
            f"the schema {schema!r} of {name} cannot be used; give a name of 1 to "
            f"{_MAX_NAME_BYTES} bytes without '$' that does not begin with 'pg_' or end with "
            f"{STAGED_SUFFIX!r}"
        )
    return schema


def _checked_tenant(tenant: str) -> str:
    if re.search(r"[\x00\ud800-\udfff]", tenant):
        raise OptionError(f"the tenant {tenant!r} cannot be used; give a text without NUL")
    return tenant


def _checked_connections(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", text, re.ASCII) or int(text) < 2:
        raise OptionError(f"connections={text!r} is not a number from 2 to 9999; give one")
    return int(text)


def _checked_cache(text: str) -> str:
    if text and not Path(text).is_absolute():
        raise OptionError(f"cache={text!r} is no absolute path of a folder; give one")
    return text
