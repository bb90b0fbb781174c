"""Commands: one file per command or group of related commands."""
