"""E-mails and mailboxes."""
