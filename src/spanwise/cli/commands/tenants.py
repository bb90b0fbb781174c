"""`spanwise tenants`: grant tenants of a knowledge base in PostgreSQL to roles of the server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page
from spanwise.cli.output import write_json
from spanwise.config import find_location, knowledge_base_path
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from spanwise.stores.port import TenantStore

_role_option = click.option(
    "--role",
    metavar="NAME",
    required=True,
    help="Role in PostgreSQL. It must not own the tables.",
)


@click.group(
    cls=ExampleGroup,
    short_help="Grant tenants to roles in PostgreSQL.",
    examples=[
        (
            "grant a tenant to a role",
            "spanwise tenants grant acme --role app --kb postgresql://db/reports",
        ),
        ("list all grants", "spanwise tenants list --kb postgresql://db/reports"),
    ],
)
def tenants() -> None:
    """Grant tenants of a knowledge base in PostgreSQL to roles of the server.

    A role reads and writes the documents of its tenants only. --kb must be the address of the
    role that owns the tables.
    """


@tenants.command(
    cls=ExampleCommand,
    short_help="Grant a tenant to a role.",
    examples=[
        (
            "grant a tenant to a role",
            "spanwise tenants grant acme --role app --kb postgresql://db/reports",
        )
    ],
)
@click.argument("tenant", metavar="TENANT")
@_role_option
@knowledge_base_option
@json_option
def grant(*, tenant: str, role: str, kb: str | None, as_json: bool) -> ExitCode:
    """Let a role read and write the documents of TENANT.

    The role also gets the necessary rights on the schema and its tables. Its address must name
    the tenant: postgresql://ROLE@HOST/DATABASE?tenant=TENANT.
    """
    with _opened(kb) as store:
        store.grant_tenant(tenant, role=role)
    return _report(tenant, role, as_json=as_json, changed="granted", text=f"{role} has {tenant}")


@tenants.command(
    cls=ExampleCommand,
    short_help="Revoke a tenant from a role.",
    examples=[
        (
            "revoke a tenant from a role",
            "spanwise tenants revoke acme --role app --kb postgresql://db/reports",
        )
    ],
    exit_codes={ExitCode.NOTHING_FOUND: "the role did not have the tenant"},
)
@click.argument("tenant", metavar="TENANT")
@_role_option
@knowledge_base_option
@json_option
def revoke(*, tenant: str, role: str, kb: str | None, as_json: bool) -> ExitCode:
    """Revoke TENANT from a role. This takes effect at its next transaction.

    Revoke a tenant before you drop its role: a new role with the same name would have it.
    """
    with _opened(kb) as store:
        had = store.revoke_tenant(tenant, role=role)
    text = f"{role} no longer has {tenant}" if had else f"{role} does not have {tenant}"
    _report(tenant, role, as_json=as_json, changed="revoked" if had else "", text=text)
    return ExitCode.OK if had else ExitCode.NOTHING_FOUND


@tenants.command(
    "list",
    cls=ExampleCommand,
    short_help="List the granted tenants and their roles.",
    examples=[("list all grants", "spanwise tenants list --kb postgresql://db/reports")],
)
@knowledge_base_option
@json_option
def list_tenants(*, kb: str | None, as_json: bool) -> ExitCode:
    """List the granted tenants and their roles."""
    with _opened(kb) as store:
        grants = store.list_tenants()
    if as_json:
        write_json([{"tenant": tenant, "role": role} for tenant, role in grants], sys.stdout)
        return ExitCode.OK
    page = Page()
    for tenant, role in grants:
        page.line(f"{tenant}  {role}")
    if not grants:
        page.line("no tenant is granted to a role")
    return ExitCode.OK


def _report(tenant: str, role: str, *, as_json: bool, changed: str, text: str) -> ExitCode:
    if as_json:
        write_json({"tenant": tenant, "role": role, "changed": changed}, sys.stdout)
    else:
        Page().wrapped(text)
    return ExitCode.OK


@contextmanager
def _opened(kb: str | None) -> Iterator[TenantStore]:
    """Yield the store of a knowledge base with tenants.

    Raises:
        OptionError: If the knowledge base is not in PostgreSQL.
    """
    from spanwise.stores.opening import open_store
    from spanwise.stores.port import TenantStore

    place = find_location(knowledge_base_path(kb))
    with closing(open_store(place, create=False)) as store:
        if not isinstance(store, TenantStore):
            raise OptionError(
                f"{place} has no tenants; give the address of a knowledge base in PostgreSQL "
                "(--kb postgresql://...)"
            )
        yield store
