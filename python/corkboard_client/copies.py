"""A copy of events, users and boards in SQLite, with the tables of `corkboard sync`."""
from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from .client import Client
from .errors import AnswerError, CorkboardError

PERSON = ("id", "email", "name", "role", "class_role")
SECTIONS = (
    ("", None, ("type", "action")),
    ("owner_", "owner", PERSON),
    ("actor_", "actor", PERSON),
    ("organization_", "organization", ("id", "name", "domain", "category_id")),
    ("pin_", "pin", ("id", "activity", "title", "body", "web_url", "image_url", "tags")),
    ("board_", "board", ("id", "title", "category")),
)
EVENTS = ("sync_id", *(prefix + name for prefix, _, names in SECTIONS for name in names), "timestamp")
LISTS: Mapping[str, Tuple[str, ...]] = {
    "users": ("id", "email", "role", "name", "first_name", "last_name"),
    "boards": ("id", "title", "category"),
}
STATE = ("source", "token", "users_tag", "boards_tag")
UNSTORABLE = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    # Before Python 3.11, in place of ProgrammingError.
    sqlite3.InterfaceError,
    OverflowError,
    UnicodeEncodeError,
    RecursionError,
)
INDEXED = {"events": ("timestamp", "board_id", "actor_id"), "users": ("email",), "boards": ()}


@dataclass
class SyncCounts:
    """What a run has changed. `users` and `boards`: their number, None if they have not changed."""

    started_anew: bool = False
    events: int = 0
    deleted_events: int = 0
    erased_users: int = 0
    users: Optional[int] = None
    boards: Optional[int] = None


class SqliteCopy:
    """A file with the tables `events`, `users` and `boards`. `corkboard sync` can continue it.

    with SqliteCopy("school.sqlite") as copy:
        copy.update(client)
    """

    def __init__(self, path: str) -> None:
        # Readable by the owner only; SQLite gives its other files the same permissions.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.database = sqlite3.connect(path, isolation_level=None)
        self._refuse_others()
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute("PRAGMA secure_delete = ON")
        # First: without it, tables that a killed process has left would be refused.
        state = ", ".join(f"{name} TEXT" for name in STATE)
        self.database.execute(f"CREATE TABLE IF NOT EXISTS corkboard_sync ({state})")
        for table, columns in {"events": EVENTS, **LISTS}.items():
            key = columns[0]
            described = ", ".join(f'"{name}" {_type_of(name)}{_KEY if name == key else ""}' for name in columns)
            self.database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({described})")
            for column in INDEXED[table]:
                self.database.execute(f'CREATE INDEX IF NOT EXISTS {table}_{column} ON {table} ("{column}")')

    def _refuse_others(self) -> None:
        """Tables of the same names that do not belong to a copy must not be emptied."""
        # SQLite does not distinguish upper and lower case in names.
        relations = "SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')"
        names = {name for (name,) in self.database.execute(relations)}
        foreign = sorted(names & {"events", *LISTS})
        if foreign and "corkboard_sync" not in names:
            self.database.close()
            raise CorkboardError(
                "copy-refused",
                f'The file has a table or view "{foreign[0]}" that does not belong to a copy. Use a different file.',
            )

    def __enter__(self) -> "SqliteCopy":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        self.database.close()

    def update(self, client: Client) -> SyncCounts:
        """Brings the copy up to date in one transaction: if that fails, nothing has changed."""
        counts = SyncCounts()
        self.database.execute("BEGIN IMMEDIATE")
        try:
            row = self.database.execute(f"SELECT {', '.join(STATE)} FROM corkboard_sync").fetchone()
            source, token, *tags = row or (client.base_url, None, None, None)
            if source != client.base_url:
                raise CorkboardError("copy-refused", f"The file is a copy of {source}. Use a different file.")
            token = self._apply_changes(client, token, counts)
            fresh = [self._apply_list(client, name, tag, counts) for name, tag in zip(LISTS, tags)]
            self.database.execute("DELETE FROM corkboard_sync")
            names = ", ".join(STATE)
            self.database.execute(
                f"INSERT INTO corkboard_sync ({names}) VALUES (?, ?, ?, ?)", (source, token, *fresh)
            )
            self._empty_points()
            self.database.execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise
        return counts

    def _empty_points(self) -> None:
        """Points that `corkboard sync` has copied would not be those of the new events."""
        columns = {name for (_, name, *_) in self.database.execute("PRAGMA table_info(corkboard_sync)")}
        if "points_tag" in columns:
            self.database.execute("DELETE FROM points")

    def _apply_changes(self, client: Client, token: Optional[str], counts: SyncCounts) -> Optional[str]:
        for batch in client.sync(token):
            if batch.starts_anew:
                self.database.execute("DELETE FROM events")
                counts.started_anew, counts.events, counts.deleted_events, counts.erased_users = True, 0, 0, 0
            self._for_each("DELETE FROM events WHERE actor_id = ?", [(user,) for user in batch.forgotten])
            self._for_each("DELETE FROM events WHERE sync_id = ?", [(one,) for one in batch.deleted])
            self._put("events", EVENTS, map(event_row, batch.events))
            counts.events += len(batch.events)
            counts.deleted_events += len(batch.deleted)
            counts.erased_users += len(batch.forgotten)
            token = batch.token or token
        return token

    def _apply_list(self, client: Client, name: str, tag: Optional[str], counts: SyncCounts) -> Optional[str]:
        fresh = client.list_unless(f"/v1/{name}", tag)
        if fresh is None:
            return tag
        self.database.execute(f"DELETE FROM {name}")
        tag, elements = fresh
        # One at a time: together, the pages can take more memory than there is.
        rows = (list_row(LISTS[name], element) for element in elements)
        setattr(counts, name, self._put(name, LISTS[name], rows))
        return tag

    def _put(self, table: str, columns: Sequence[str], rows: Iterable[List[Any]]) -> int:
        """Number of rows."""
        places = ", ".join("?" for _ in columns)
        names = ", ".join(f'"{name}"' for name in columns)
        return self._for_each(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})", rows)

    def _for_each(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Number of rows that were changed. Raises `AnswerError` for values that no column can have."""
        try:
            return self.database.executemany(statement, rows).rowcount
        except UNSTORABLE:
            raise AnswerError("unreadable", "The response has values that are not those of Corkboard.") from None


_KEY = " PRIMARY KEY NOT NULL"


def event_row(event: Mapping[str, Any]) -> List[Any]:
    """The values of the columns of an event, in their order."""
    try:
        values: Dict[str, Any] = {"sync_id": event["sync_id"], "timestamp": event["timestamp"]}
        for prefix, member, names in SECTIONS:
            section = event if member is None else event.get(member) or {}
            for name in names:
                values[prefix + name] = _cell(section.get(name))
    except (AttributeError, KeyError):
        raise AnswerError("unreadable", "The response has events that are not those of Corkboard.") from None
    return [values[name] for name in EVENTS]


def list_row(columns: Sequence[str], element: Mapping[str, Any]) -> List[Any]:
    return [_cell(element.get(name)) for name in columns]


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, list) else value


def _type_of(name: str) -> str:
    return "INTEGER" if name == "id" or name.endswith("_id") and name != "sync_id" else "TEXT"
