"""Requests to one server, repeated after transient errors."""
from __future__ import annotations

import email.utils
import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, TypeVar

from .errors import AnswerError, CorkboardError, ProblemError

T = TypeVar("T")

PASSING_STATUSES = frozenset((429, 502, 503, 504))
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
LONGEST_PROBLEM_BYTES = 64 * 1024
PARTS_BYTES = 256 * 1024
MOST_BODY_BYTES = 512 * 1024 * 1024
"""Of points and insights, which are parsed as a whole: their objects take several times as much."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: Any
    """What was made of the body; None for a 304."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the key to a different address."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class Transport:
    """Sends requests with the key. `retries`: the most repetitions of a request."""

    def __init__(self, key: str, retries: int, timeout: float) -> None:
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise ValueError("The key is empty or contains characters that no key contains.")
        self._key = key
        self.retries = retries
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirects())

    def get(
        self, url: str, query: Mapping[str, Any], headers: Mapping[str, str], read: Callable[[Any], Any]
    ) -> Answer:
        """The response to a GET: a 200, 206 or 304. `read` makes of it what is returned as its body.
        Raises `CorkboardError`."""

        def attempt() -> Answer:
            with self.open(url, query, headers) as response:
                body = None if response.status == 304 else read(response)
                return Answer(response.status, response.headers, body)

        return self.retrying(attempt)

    def open(self, url: str, query: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """A response whose body is unread. Sent once. Raises `CorkboardError`."""
        given = {name: str(value) for name, value in query.items() if value is not None}
        address = f"{url}?{urllib.parse.urlencode(given)}" if given else url
        request = urllib.request.Request(address, headers={**headers, "apikey": self._key})
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            if error.code == 304 and "If-None-Match" in headers:
                return error
            with error:
                raise _refusal(error, self._key) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise AnswerError("unreachable", f"No response from {url} ({reason}).") from error

    def retrying(self, attempt: Callable[[], T]) -> T:
        """The result of the first attempt that succeeds."""
        tried = 0
        while True:
            try:
                return attempt()
            except CorkboardError as error:
                tried += 1
                pause = _pause_before(error, tried)
                if tried > self.retries or pause is None:
                    raise
                time.sleep(pause)


def parts_of(response: Any) -> Iterator[bytes]:
    """The body, read on demand. Raises `AnswerError` with `cut-short`."""
    try:
        while True:
            part = response.read(PARTS_BYTES)
            if not part:
                break
            yield part
    except (http.client.HTTPException, OSError) as error:
        raise AnswerError("cut-short", "The response was cut short. Send the request again.") from error
    if response.length:
        raise AnswerError("cut-short", "The response was cut short. Send the request again.")


def read_body(response: Any) -> bytearray:
    """The whole body. Raises `AnswerError`: `too-large` if it has more than `MOST_BODY_BYTES`."""
    body = bytearray()
    for part in parts_of(response):
        body += part
        if len(body) > MOST_BODY_BYTES:
            raise AnswerError(
                "too-large",
                f"The response has more than {MOST_BODY_BYTES:,} bytes. It may come from a different service.",
            )
    return body


def _pause_before(error: CorkboardError, tried: int) -> Optional[float]:
    """Seconds to wait; None if another attempt makes no sense."""
    wanted = 0.0
    if isinstance(error, ProblemError):
        if error.status not in PASSING_STATUSES:
            return None
        wanted = error.retry_after or 0.0
    elif error.code not in ("unreachable", "cut-short"):
        return None
    if wanted > LONGEST_PAUSE_S:
        return None
    widest = min(FIRST_PAUSE_S * 2 ** (tried - 1), LONGEST_PAUSE_S)
    # Random, so that clients that failed together do not all come back together.
    return max(wanted, widest * (0.5 + random.random() / 2))


def _refusal(error: urllib.error.HTTPError, key: str) -> CorkboardError:
    status = error.code
    if 300 <= status < 400:
        return AnswerError("redirected", "The server redirects to a different address. Use that as the base URL.")
    problem: Dict[str, Any] = {}
    try:
        read = json.loads(error.read(LONGEST_PROBLEM_BYTES))
        problem = read if isinstance(read, dict) else {}
    except (ValueError, OSError, http.client.HTTPException):
        pass

    def field(name: str, otherwise: str) -> str:
        value = problem.get(name)
        return value.replace(key, "…") if isinstance(value, str) else otherwise

    return ProblemError(
        status,
        field("code", "unknown"),
        field("title", f"Status {status}"),
        field("detail", "The request was refused without a readable reason."),
        field("request_id", "") or None,
        retry_after_of(error.headers.get("Retry-After")),
    )


def retry_after_of(field: Optional[str]) -> Optional[float]:
    """Seconds from now; the field has seconds or a date."""
    if field is None:
        return None
    if re.fullmatch(r"\d+", field):
        return float(field)
    try:
        moment = email.utils.parsedate_to_datetime(field)
    except (TypeError, ValueError):
        return None
    return max(0.0, moment.timestamp() - time.time())
