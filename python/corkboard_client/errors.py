"""Errors of requests. None of them contains the key."""
from __future__ import annotations

from typing import Optional


class CorkboardError(Exception):
    """Base class of all errors of the client. `code` is stable: use it in programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ProblemError(CorkboardError):
    """The server has refused the request with a problem document (RFC 9457).

    `code` is `unknown` if the body is none; `retry_after` is in seconds.
    """

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(code, f"{detail} ({status} {code})")
        self.status = status
        self.title = title
        self.detail = detail
        self.request_id = request_id
        self.retry_after = retry_after


class AnswerError(CorkboardError):
    """There was no complete response, or it did not come from a Corkboard server.

    `code` is `unreachable`, `cut-short`, `redirected`, `unreadable` or `too-large`.
    """
