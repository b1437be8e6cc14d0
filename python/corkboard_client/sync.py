"""Keeps a copy of events up to date: the changes since a sync token, in batches."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, List, NamedTuple, Optional

from .errors import AnswerError, ProblemError
from .records import Event

START = "start"
REFUSED_TOKEN = ("since-invalid", "since-scope-changed")


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


class Page(NamedTuple):
    elements: List[Any]
    cursor: Optional[str]
    token: Optional[str]


def follow(read: Callable[[str, Optional[str]], Page], token: Optional[str]) -> Iterator[Batch]:
    """All batches since `token`; None: from the start. `read` gets a page by token and cursor."""
    since = token or START
    anew = since == START
    cursor: Optional[str] = None
    while True:
        try:
            page = read(since, cursor)
        except ProblemError as error:
            is_refused = since != START and error.code in REFUSED_TOKEN
            if not is_refused and error.code != "cursor-scope-changed":
                raise
            since, anew, cursor = START, True, None
            continue
        if page.token is None:
            raise AnswerError("unreadable", "The response has no Sync-Token header: the server is too old.")
        is_last = page.cursor is None
        if anew or page.elements or (is_last and page.token != token):
            yield _batch(page, anew, page.token if is_last else None)
        if is_last:
            return
        if page.cursor == cursor:
            raise AnswerError("unreadable", "The pages of the response lead in a circle.")
        anew, cursor = False, page.cursor


def _batch(page: Page, anew: bool, token: Optional[str]) -> Batch:
    batch = Batch(starts_anew=anew, token=token)
    for element in page.elements:
        if "forgotten" in element:
            batch.forgotten.append(element["forgotten"]["user"])
        elif "deleted" in element:
            batch.deleted.append(element["sync_id"])
        else:
            batch.events.append(element)
    return batch
