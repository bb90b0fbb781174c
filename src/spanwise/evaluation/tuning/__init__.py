"""Tuning of search settings on labelled questions, and measurement of the improvement."""

from spanwise.evaluation.tuning.tuner import TuneOptions, TuneReport, made_questions, tune

__all__ = ["TuneOptions", "TuneReport", "made_questions", "tune"]
