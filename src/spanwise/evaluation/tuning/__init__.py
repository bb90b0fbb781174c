"""Tune search to the questions of a user, and measure what it gains."""

from spanwise.evaluation.tuning.made import made_questions
from spanwise.evaluation.tuning.options import TuneOptions
from spanwise.evaluation.tuning.tuner import TuneReport, tune

__all__ = ["TuneOptions", "TuneReport", "made_questions", "tune"]
