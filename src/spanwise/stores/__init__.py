"""The embedded store and its kin behind the `Store` port."""
