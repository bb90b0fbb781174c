"""Rerankers: their caller, a client for HTTP services, and a language model as reranker.

To add a reranker, add a module here (or a `Format` to `http_reranker`) and an entry point to the
group `spanwise.rerankers`. Libraries with embedders and rerankers are in `models.providers`.
"""
