"""Rerankers: the caller, clients over HTTP, and a language model as reranker.

A new reranker is one module here (or one `Format` in `http_reranker`) and one entry point in the
group `spanwise.rerankers`. Libraries that offer embedders too are in `models.providers`.
"""
