"""Evaluation of whole answers: answering, grading and agreement between graders."""
