"""Totals as the package reads them, in several ways: `python totals.py FILE`, a new SQLite file.

`CORKBOARD_URL` is the base URL of Variant A, `CORKBOARD_KEY` the key, and `CORKBOARD_RANGE` a JSON
object that can have `start` and `end`. Prints a JSON object with the totals of each way, by text.
"""
import collections
import json
import os
import sys

from corkboard_client import Client, SqliteCopy


def of_events(events):
    totals = collections.Counter()
    for timestamp, action, board, actor in events:
        totals[f"day {timestamp[:10]} {action}"] += 1
        totals[f"board {board}"] += 1
        totals[f"user {actor}"] += 1
    return totals


def of_points(records):
    totals = {}
    for record in records:
        names = f"{record['board_id']} {record['user_id']}"
        totals[f"points {names}"] = record["total_points"]
        totals[f"score {names}"] = record["participation_score"]
    return totals


def of_lists(client, within):
    events = (
        (event["timestamp"], event["action"], event["board"]["id"], event["actor"]["id"])
        for event in client.events(**within)
    )
    points = (record for board in client.boards() for record in client.points(board=board["id"], **within))
    return {**of_events(events), **of_points(points)}


def of_insights(client, within):
    totals = collections.Counter()
    activity = client.insights("activity", interval="day", by="action", **within)
    for series in activity["series"]:
        for period, events in zip(activity["periods"], series["events"]):
            if events > 0:
                totals[f"day {period[:10]} {series['label']}"] = events
    for ranked in client.insights("boards", top=1000, **within):
        board = ranked["board"]["id"]
        totals[f"board {board}"] = ranked["events"]
        for one in client.insights("users", board=board, top=1000, **within):
            totals[f"user {one['user']['id']}"] += one["events"]
    return {**totals, **of_points(client.insights("points", **within))}


def of_copy(client, within, file):
    where, values = ["1"], []
    for name, sign in (("start", ">="), ("end", "<")):
        if name in within:
            where.append(f"timestamp {sign} ?")
            values.append(within[name])
    with SqliteCopy(file) as copy:
        copy.update(client)
        columns = "timestamp, action, board_id, actor_id"
        return of_events(copy.database.execute(f"SELECT {columns} FROM events WHERE {' AND '.join(where)}", values))


if __name__ == "__main__":
    client = Client(os.environ["CORKBOARD_URL"], os.environ["CORKBOARD_KEY"])
    within = json.loads(os.environ["CORKBOARD_RANGE"])
    ways = {
        "lists": of_lists(client, within),
        "insights": of_insights(client, within),
        "copy": of_copy(client, within, sys.argv[1]),
    }
    print(json.dumps(ways))
