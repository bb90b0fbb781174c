"""Retrievers to compare: methods of Spanwise, baselines, and adapters for external retrievers."""

from spanwise.evaluation.retrievers.adapters import FunctionRetriever, adapt
from spanwise.evaluation.retrievers.context import EvaluationContext
from spanwise.evaluation.retrievers.factory import make_retriever
from spanwise.evaluation.retrievers.methods import ADDITIONS, METHODS, Method, read_method
from spanwise.evaluation.retrievers.text_location import Placer

__all__ = [
    "ADDITIONS",
    "METHODS",
    "EvaluationContext",
    "FunctionRetriever",
    "Method",
    "Placer",
    "adapt",
    "make_retriever",
    "read_method",
]
