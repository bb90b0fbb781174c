"""Tune search to the questions of a user, and measure what it gains."""

from spanwise.evaluation.tuning.tuner import TuneOptions, TuneReport, made_questions, tune

__all__ = ["TuneOptions", "TuneReport", "made_questions", "tune"]
