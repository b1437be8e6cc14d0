"""The client: one method for each kind of data."""
from __future__ import annotations

import datetime
import json
import os
import re
import urllib.parse
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from .downloads import Download
from .errors import AnswerError
from .pages import Page, PageOrder, in_smaller_pages, read_lines
from .records import Board, Event, PointsRecord, User
from .sync import Batch, follow
from .transport import Answer, Transport, parts_of, read_body

Instant = Union[datetime.datetime, str, int]
NDJSON = "application/x-ndjson"
JSON = "application/json"

EVENT_PATHS = {
    "a": {"board": "/v1/events/board/{}", "user": "/v1/events/user/{}", "pins": "/v1/events/pins"},
    "b": {"board": "/v1/board/{}", "user": "/v1/user/{}", "pins": "/v1/pins"},
}


class Client:
    """Reads from one server with one key.

    `base_url` is the part before `/v1`, like `https://data.example.org/a`. `page_size`: elements of
    a page, from 1 to 10,000. `retries`: the most repetitions of a request after transient errors.
    `timeout`: seconds without a byte from the server.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        page_size: int = 10_000,
        retries: int = 5,
        timeout: float = 60.0,
    ) -> None:
        self.base_url = _base_of(base_url)
        self.page_size = page_size
        self._transport = Transport(key, retries, timeout)
        self._variant = "b" if self.base_url.endswith("/b") else "a"

    def events(
        self,
        *,
        start: Optional[Instant] = None,
        end: Optional[Instant] = None,
        board: Optional[int] = None,
        user: Optional[int] = None,
        pins: bool = False,
    ) -> Iterator[Event]:
        """Events, oldest first: all, or those on a board, of a user as the actor, or about pins."""
        path = self._events_path(board, user, pins)
        return self._list(path, _range(start, end))

    def boards(self, *, start: Optional[Instant] = None, end: Optional[Instant] = None) -> Iterator[Board]:
        """Boards, ascending by id. A range selects by the time of creation."""
        return self._list("/v1/boards", _range(start, end))

    def users(self, *, start: Optional[Instant] = None, end: Optional[Instant] = None) -> Iterator[User]:
        """Users, ascending by id. A range selects by the time of creation."""
        return self._list("/v1/users", _range(start, end))

    def points(
        self,
        *,
        board: Optional[int] = None,
        user: Optional[int] = None,
        lti_id: Optional[str] = None,
        course_id: Optional[str] = None,
        start: Optional[Instant] = None,
        end: Optional[Instant] = None,
    ) -> List[PointsRecord]:
        """Points of all users on a board, or of a user on all boards. Variant A only."""
        given = [("board", board), ("user", user), ("lti", lti_id), ("course", course_id)]
        named = [(kind, name) for kind, name in given if name is not None]
        if len(named) != 1:
            raise TypeError("Name exactly one of board, user, lti_id and course_id.")
        kind, name = named[0]
        query = _range(start, end)
        if kind == "user":
            # Without it, the names of the records depend on a setting of the organization.
            query["key"] = "board"
        records = self._whole(f"{self.base_url}/v1/{kind}/{_segment(name)}/points", query)
        return list(records.values())

    def insights(
        self,
        name: str,
        *,
        start: Optional[Instant] = None,
        end: Optional[Instant] = None,
        **parameters: Any,
    ) -> Any:
        """A figure, by the part of its path after `/insights/v1/`, like `overview`, `activity`,
        `boards/7/participation`. The reference of the server lists the names and parameters."""
        query = {**_range(start, end), **parameters}
        return self._whole(f"{self._insights_url()}/v1/{urllib.parse.quote(name)}", query)

    def sync(
        self,
        token: Optional[str] = None,
        *,
        board: Optional[int] = None,
        user: Optional[int] = None,
        pins: bool = False,
    ) -> Iterator[Batch]:
        """The changes of events since a sync token; without one, everything. Yields nothing if
        nothing has changed."""
        path = self._events_path(board, user, pins)

        def read(since: str, cursor: Optional[str], size: int) -> Page:
            return self._page(path, {"since": since, "cursor": cursor}, size)

        return follow(read, token, self.page_size)

    def list_unless(self, path: str, tag: Optional[str]) -> Optional[Tuple[Optional[str], Iterator[Any]]]:
        """The entity tag and the elements of a list like `/v1/users`; None if it still has the tag."""
        known = {} if tag is None else {"If-None-Match": tag}
        answer, page = in_smaller_pages(self.page_size, lambda size: self._response_page(path, {}, size, known))
        if page is None:
            return None
        return answer.headers.get("ETag"), self._pages(path, {}, page)

    def download(
        self,
        file: str,
        *,
        of: str = "events",
        format: str = "parquet",
        start: Optional[Instant] = None,
        end: Optional[Instant] = None,
    ) -> None:
        """Writes a list (`events`, `boards` or `users`) to a file, and continues after a cut.

        The file appears when it is complete.
        """
        part = f"{file}.part"
        query = {**_range(start, end), "format": format}
        url = f"{self.base_url}/v1/{of}"
        with open(part, "wb") as target:
            Download(target, lambda headers: self._transport.open(url, query, headers)).run(self._transport)
        os.replace(part, file)

    def events_table(self, *, start: Optional[Instant] = None, end: Optional[Instant] = None) -> Any:
        """All events as a `pyarrow.Table`. Requires pyarrow."""
        import io

        import pyarrow.parquet

        query = {**_range(start, end), "format": "parquet"}
        # Not limited: the caller has asked for all events in memory.
        answer = self._transport.get(f"{self.base_url}/v1/events", query, {}, lambda it: b"".join(parts_of(it)))
        return pyarrow.parquet.read_table(io.BytesIO(answer.body))

    def events_frame(self, *, start: Optional[Instant] = None, end: Optional[Instant] = None) -> Any:
        """All events as a `pandas.DataFrame` with exact identifiers. Requires pandas and pyarrow."""
        import pandas

        return self.events_table(start=start, end=end).to_pandas(types_mapper=pandas.ArrowDtype)

    def _insights_url(self) -> str:
        return re.sub(r"/[ab]$", "", self.base_url) + "/insights"

    def _events_path(self, board: Optional[int], user: Optional[int], pins: bool) -> str:
        if sum((board is not None, user is not None, pins)) > 1:
            raise TypeError("Name at most one of board, user and pins.")
        paths = EVENT_PATHS[self._variant]
        if board is not None:
            return paths["board"].format(_segment(board))
        if user is not None:
            return paths["user"].format(_segment(user))
        return paths["pins"] if pins else "/v1/events"

    def _list(self, path: str, query: Mapping[str, Any]) -> Iterator[Any]:
        return self._pages(path, query, None)

    def _pages(self, path: str, query: Mapping[str, Any], first: Optional[Page]) -> Iterator[Any]:
        page = first or self._page(path, query, self.page_size)
        order = PageOrder()
        while True:
            yield from page.elements
            cursor = order.next(page)
            if cursor is None:
                return
            page = self._page(path, {**query, "cursor": cursor}, page.size)

    def _page(self, path: str, query: Mapping[str, Any], most: int) -> Page:
        return in_smaller_pages(most, lambda size: self._response_page(path, query, size, {})[1])

    def _response_page(
        self, path: str, query: Mapping[str, Any], size: int, more: Mapping[str, str]
    ) -> Tuple[Answer, Optional[Page]]:
        """A response with its page; None if it is a 304."""
        given, headers = {**query, "limit": size}, {"Accept": NDJSON, **more}
        answer = self._transport.get(self.base_url + path, given, headers, _elements_of)
        if answer.status == 304:
            return answer, None
        cursor, token = _cursor_of(answer.headers.get("Link")), answer.headers.get("Sync-Token")
        return answer, Page(answer.body, cursor, token, size)

    def _whole(self, url: str, query: Mapping[str, Any]) -> Any:
        return _parsed(self._transport.get(url, query, {"Accept": JSON}, read_body).body)


def _base_of(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("The base URL must begin with http:// or https://, without a password, query or fragment.")
    return re.sub(r"/v1$", "", url.rstrip("/"))


def _range(start: Optional[Instant], end: Optional[Instant]) -> Dict[str, Any]:
    return {"start": _instant(start), "end": _instant(end)}


def _instant(instant: Optional[Instant]) -> Optional[str]:
    if isinstance(instant, datetime.datetime):
        if instant.tzinfo is None:
            raise ValueError("A time needs a time zone, like datetime.timezone.utc.")
        return instant.isoformat()
    return None if instant is None else str(instant)


def _segment(name: Union[int, str]) -> str:
    text = str(name)
    if text in ("", ".", ".."):
        raise ValueError('A name in a path must not be empty, "." or "..".')
    return urllib.parse.quote(text, safe="")


def _cursor_of(link: Optional[str]) -> Optional[str]:
    found = re.search(r'<([^<>]*)>\s*;[^,]*\brel="?next\b', link or "")
    if found is None:
        return None
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(found.group(1)).query)
    if "cursor" not in query:
        raise AnswerError("unreadable", "The Link header has a next page without a cursor.")
    return query["cursor"][0]


def _parsed(text: Union[str, bytearray]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # The text is left out: it is personal data.
        raise AnswerError("unreadable", "The response is not JSON. It may come from a different service.") from None


def _elements_of(response: Any) -> List[Any]:
    """The elements of a page, which are objects."""
    kind = (response.headers.get("Content-Type") or "").split(";")[0].strip().lower()
    if kind != NDJSON:
        raise AnswerError("unreadable", f"The response has the type {kind or 'unknown'}, not {NDJSON}.")
    elements = [_parsed(line) for line in read_lines(response)]
    if all(isinstance(element, dict) for element in elements):
        return elements
    raise AnswerError("unreadable", "The response has no objects. It may come from a different service.")
