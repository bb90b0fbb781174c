"""Isolated parsing processes with limits on time, memory and size."""
