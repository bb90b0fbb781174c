"""Which network addresses may be fetched, so that a document's URL cannot reach inside."""

from spanwise.network_addresses import is_public, resolve

__all__ = ["is_public", "resolve"]
