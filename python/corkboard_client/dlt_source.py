"""A source for dlt (https://dlthub.com): events, users and boards of a server, in flat tables.

    import dlt
    from corkboard_client.dlt_source import corkboard_source

    pipeline = dlt.pipeline("school", destination="duckdb", dataset_name="school")
    pipeline.run(corkboard_source(client))

Requires dlt, which is imported when the source is made.
"""
from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from .client import Client
from .copies import EVENTS, event_row
from .errors import CorkboardError


class EventLoad(NamedTuple):
    """Rows to merge on `sync_id`. A row with `deleted` deletes the one with its `sync_id`."""

    replaces: bool
    """The rows are everything: the table must be emptied before. Only in the first load of a run."""
    rows: List[Dict[str, Any]]
    token: Optional[str]
    """The sync token after the last load of a run; None in the others."""


def event_loads(client: Client, token: Optional[str]) -> Iterator[EventLoad]:
    """The changes of events since a sync token; without one, everything.

    Erased users make a full load: rows can be deleted by `sync_id` only, and a server does not keep
    those of events that it has erased. Raises `CorkboardError` with the code `scope-changed` if the
    key sees something else in the middle of a run: rows that are loaded already cannot be withdrawn.
    """
    has_begun = False
    for batch in client.sync(token):
        if has_begun and (batch.starts_anew or batch.forgotten):
            raise CorkboardError("scope-changed", "What the key can see has changed during the run. Run it again.")
        if batch.forgotten and not batch.starts_anew:
            yield from event_loads(client, None)
            return
        rows: List[Dict[str, Any]] = [{"sync_id": name, "deleted": True} for name in batch.deleted]
        rows += [dict(zip(EVENTS, event_row(event))) for event in batch.events]
        yield EventLoad(batch.starts_anew, rows, batch.token)
        has_begun = True


def corkboard_source(client: Client) -> Any:
    """A dlt source with the resources `events`, `users` and `boards`.

    `events` is merged, and loads only what has changed since the last run of the pipeline; its sync
    token is in the state of the pipeline. `users` and `boards` are replaced by each run.

    Make a new source for each run. One that has replaced the table stays marked as such: dlt deletes
    its state before the next run, which loads everything again.
    """
    import dlt

    @dlt.resource(name="events", primary_key="sync_id", write_disposition="merge", columns=_columns())
    def events() -> Iterator[Any]:
        state = dlt.current.resource_state()
        loads = event_loads(client, state.get("token"))
        first = next(loads, None)
        if first is not None and first.replaces:
            yield dlt.mark.with_hints([], dlt.mark.make_hints(write_disposition="replace"))
        for load in itertools.chain([] if first is None else [first], loads):
            yield load.rows
            if load.token is not None:
                state["token"] = load.token

    @dlt.source(name="corkboard")
    def source() -> Any:
        def users() -> Iterator[Any]:
            yield from client.users()

        def boards() -> Iterator[Any]:
            yield from client.boards()

        replaced = [
            dlt.resource(read, name=read.__name__, primary_key="id", write_disposition="replace")
            for read in (users, boards)
        ]
        return [events, *replaced]

    return source()


def _columns() -> Dict[str, Dict[str, Any]]:
    """The types do not depend on the rows that happen to come first."""
    types = {name: {"data_type": _type_of(name)} for name in EVENTS}
    return {**types, "deleted": {"data_type": "bool", "hard_delete": True}}


def _type_of(name: str) -> str:
    if name == "timestamp":
        return "timestamp"
    return "bigint" if name.endswith("_id") and name != "sync_id" else "text"
