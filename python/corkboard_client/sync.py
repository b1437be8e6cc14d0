"""Keeps a copy of events up to date: the changes since a sync token, in batches."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterator, List, Optional

from .errors import AnswerError, ProblemError
from .pages import Page, PageOrder
from .records import Event

START = "start"
REFUSED_TOKEN = ("since-invalid", "since-scope-changed")
MOST_RESTARTS = 3
"""Every change of what the key sees makes one. A server could cause restarts without an end."""


@dataclass(frozen=True)
class Batch:
    """Apply it in this order, and store `token` in the same transaction."""

    starts_anew: bool
    """Everything follows again from the start: first empty the table."""
    forgotten: List[int] = field(default_factory=list)
    """Erased users: delete every event whose actor has such an id."""
    deleted: List[str] = field(default_factory=list)
    """Delete the events with these `sync_id`s."""
    events: List[Event] = field(default_factory=list)
    """Each replaces the event with the same `sync_id`, or is new."""
    token: Optional[str] = None
    """Pass it to the next `sync`. None if more batches of the same change set follow."""


def follow(
    read: Callable[[str, Optional[str], int], Page], token: Optional[str], size: int
) -> Iterator[Batch]:
    """All batches since `token`; None: from the start. `read` gets a page by token, cursor and size."""
    since = token or START
    anew = since == START
    cursor: Optional[str] = None
    order = PageOrder()
    restarts = 0
    while True:
        try:
            page = read(since, cursor, size)
        except ProblemError as error:
            is_refused = since != START and error.code in REFUSED_TOKEN
            is_stale = is_refused or error.code == "cursor-scope-changed"
            if not is_stale or restarts == MOST_RESTARTS:
                raise
            since, anew, cursor, order = START, True, None, PageOrder()
            restarts += 1
            continue
        if page.token is None:
            raise AnswerError("unreadable", "The response has no Sync-Token header: the server is too old.")
        is_last = page.cursor is None
        if anew or page.elements or (is_last and page.token != token):
            yield _batch(page, anew, page.token if is_last else None)
        if is_last:
            return
        anew, cursor, size = False, order.next(page), page.size


def _batch(page: Page, anew: bool, token: Optional[str]) -> Batch:
    batch = Batch(starts_anew=anew, token=token)
    try:
        for element in page.elements:
            if "forgotten" in element:
                batch.forgotten.append(element["forgotten"]["user"])
                continue
            identity = element["sync_id"]
            if "deleted" in element:
                batch.deleted.append(identity)
            else:
                batch.events.append(element)
    except (KeyError, TypeError):
        raise AnswerError("unreadable", "The response has no changes. It may come from a different service.") from None
    return batch
