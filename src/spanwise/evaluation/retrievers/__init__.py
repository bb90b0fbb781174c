"""What is measured: Spanwise's own methods, baselines, and any other retriever."""

from spanwise.evaluation.retrievers.adapters import adapt
from spanwise.evaluation.retrievers.functions import FunctionRetriever
from spanwise.evaluation.retrievers.making import make_retriever
from spanwise.evaluation.retrievers.material import Material
from spanwise.evaluation.retrievers.methods import ADDITIONS, METHODS, Method, read_method
from spanwise.evaluation.retrievers.placing import Placer

__all__ = [
    "ADDITIONS",
    "METHODS",
    "FunctionRetriever",
    "Material",
    "Method",
    "Placer",
    "adapt",
    "make_retriever",
    "read_method",
]
