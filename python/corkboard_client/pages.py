"""Pages of lists, and the limits on what a server may send of them."""
from __future__ import annotations

import codecs
from typing import Any, Callable, List, Mapping, NamedTuple, Optional

from .errors import AnswerError
from .transport import parts_of

# The same limits as in the client for JavaScript.
LONGEST_LINE_CHARACTERS = 16 * 1024 * 1024
"""No record of a server is longer."""
MOST_PAGE_CHARACTERS = 32 * 1024 * 1024
"""A page is kept until it is complete, so it is limited: short elements by their number."""
MOST_PAGE_ELEMENTS = 1_000_000
MOST_PAGES = 10_000_000
"""More than any list has: to request as many takes hours."""


class Page(NamedTuple):
    elements: List[Any]
    cursor: Optional[str]
    token: Optional[str]
    size: int
    """The most elements that were requested: fewer than wished if larger pages are too large."""


def read_lines(response: Any) -> List[str]:
    """The lines of a page. Raises `AnswerError`: `too-large` if they would take too much memory."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    lines: List[str] = []
    begun: List[str] = []
    length = total = 0
    for part in parts_of(response):
        first, *others = decoder.decode(part).split("\n")
        total += len(first) + sum(map(len, others))
        begun.append(first)
        length += len(first)
        if length > LONGEST_LINE_CHARACTERS:
            raise AnswerError(
                "unreadable",
                f"A line of the response has more than {LONGEST_LINE_CHARACTERS:,} characters. "
                "It may come from a different service.",
            )
        if others:
            lines.append("".join(begun))
            lines += others[:-1]
            begun, length = [others[-1]], len(others[-1])
        if total > MOST_PAGE_CHARACTERS or len(lines) > MOST_PAGE_ELEMENTS:
            raise AnswerError(
                "too-large",
                f"A page of the response has more than {MOST_PAGE_CHARACTERS:,} characters or "
                f"{MOST_PAGE_ELEMENTS:,} elements, however few are requested. "
                "It may come from a different service.",
            )
    if length or decoder.decode(b"", final=True):
        raise AnswerError("cut-short", "The response ended in the middle of a line. Send the request again.")
    return lines


def in_smaller_pages(size: int, request: Callable[[int], Any]) -> Any:
    """Requests a page of at most `size` elements, and smaller ones as long as it is too large."""
    while True:
        try:
            return request(size)
        except AnswerError as error:
            if size <= 1 or error.code != "too-large":
                raise
            size = -(-size // 4)


class _Steps:
    """Texts that should be different. Detects circles of any length, with one text in memory: that
    of an earlier page. If it occurs again, the pages lead in a circle."""

    def __init__(self) -> None:
        self.count = 0
        self.mark: Optional[str] = None

    def leads_back(self, text: str) -> bool:
        if text == self.mark:
            return True
        self.count += 1
        # The mark is replaced at each power of two.
        if self.count & (self.count - 1) == 0:
            self.mark = text
        return False


class PageOrder:
    """Checks the pages of one list, in their order: a server could repeat them without an end."""

    def __init__(self) -> None:
        self._cursors = _Steps()
        self._elements = _Steps()

    def next(self, page: Page) -> Optional[str]:
        """The cursor of the page after this one; None for the last. Raises `AnswerError`."""
        if page.cursor is None:
            return None
        if not page.elements:
            raise _unordered("A page of the response is empty and not the last one.")
        first = _identity_of(page.elements[0])
        if self._cursors.leads_back(page.cursor) or (first is not None and self._elements.leads_back(first)):
            raise _unordered("The pages of the response lead in a circle.")
        if self._cursors.count >= MOST_PAGES:
            raise _unordered(f"The response has more than {MOST_PAGES:,} pages.")
        return page.cursor


def _identity_of(element: Mapping[str, Any]) -> Optional[str]:
    """Occurs once in a list. None for events that have no identity: they can be equal."""
    if "forgotten" in element:
        forgotten = element["forgotten"]
        return f"forgotten {_text_of(forgotten.get('user') if isinstance(forgotten, dict) else None)}"
    for name in ("sync_id", "id"):
        if name in element:
            return f"{'deleted' in element} {_text_of(element[name])}"
    return None


def _text_of(value: Any) -> str:
    """Without the contents of lists and objects, which can be too deep for a text."""
    return str(value) if isinstance(value, (str, int)) else type(value).__name__


def _unordered(what: str) -> AnswerError:
    return AnswerError("unreadable", f"{what} It may come from a different service.")
