"""Downloads a response to a file, and continues after a cut."""
from __future__ import annotations

import re
from typing import Any, BinaryIO, Callable, Mapping, Optional

from .errors import AnswerError
from .transport import Transport, parts_of


class Download:
    """`open_response` sends the request with the given headers."""

    def __init__(self, target: BinaryIO, open_response: Callable[[Mapping[str, str]], Any]) -> None:
        self._target = target
        self._open = open_response
        self._etag: Optional[str] = None
        self._length: Optional[int] = None
        self._beginnings = 0

    def run(self, transport: Transport) -> None:
        """Cuts are counted as retries only if there is no progress between them. Raises `CorkboardError`."""
        while not transport.retrying(self._attempt):
            # A server could begin again without an end.
            if self._beginnings > transport.retries + 1:
                raise AnswerError("cut-short", f"The response began {self._beginnings} times and was always cut short.")

    def _attempt(self) -> bool:
        """False if the response was cut after some progress."""
        place = self._target.tell()
        headers = {} if self._etag is None else {"Range": f"bytes={place}-", "If-Range": self._etag}
        with self._open(headers) as response:
            if response.status == 206:
                self._continue(response, place)
            else:
                place = self._begin(response)
            self._etag = response.headers.get("ETag")
            try:
                for part in parts_of(response):
                    self._write(part)
            except AnswerError as error:
                if error.code != "cut-short" or self._target.tell() == place:
                    raise
                return False
        return self._is_complete(place)

    def _begin(self, response: Any) -> int:
        self._target.seek(0)
        self._target.truncate()
        self._beginnings += 1
        self._length = response.length
        return 0

    def _continue(self, response: Any, place: int) -> None:
        if place > 0 and response.headers.get("ETag") != self._etag:
            raise AnswerError("unreadable", "The response has a range of a different version than the one begun.")
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range") or "")
        if found is None or int(found.group(1)) != place:
            raise AnswerError("unreadable", "The response has a different range than the requested one.")
        # "*": the length is not known.
        length = self._length if found.group(2) == "*" else int(found.group(2))
        if self._length not in (None, length):
            raise AnswerError("unreadable", "The response has a range of a different length than before.")
        self._length = length

    def _write(self, part: bytes) -> None:
        self._target.write(part)
        if self._length is not None and self._target.tell() > self._length:
            raise AnswerError("unreadable", "The response has more bytes than its headers say.")

    def _is_complete(self, place: int) -> bool:
        end = self._target.tell()
        if self._length is None or end == self._length:
            return True
        if end > place:
            return False
        raise AnswerError("cut-short", "The response has no bytes of its range. Send the request again.")
