"""Parsers of e-mails and mailboxes."""
