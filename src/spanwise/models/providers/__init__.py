"""Clients of model vendors and of models that run on this machine."""
