"""Reads events, boards, users, points and insights of a Corkboard server.

    import os
    from corkboard_client import Client

    client = Client("https://data.example.org/a", os.environ["CORKBOARD_KEY"])
    for event in client.events(start="2024-01-01T00:00:00Z"):
        print(event["timestamp"], event["actor"]["name"], event["action"])

Identifiers are integers with all 64 bits. Lists are read page by page, and each page is requested
again after a transient error. Requires nothing but the standard library.
"""
from .client import Client
from .copies import SqliteCopy, SyncCounts
from .errors import AnswerError, CorkboardError, ProblemError
from .sync import Batch

__all__ = ["AnswerError", "Batch", "Client", "CorkboardError", "ProblemError", "SqliteCopy", "SyncCounts"]
