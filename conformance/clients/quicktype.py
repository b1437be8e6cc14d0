"""Reads real data into the classes that quicktype generates for Python."""
import json
import os
import re
import urllib.error
import urllib.request

import corkboard

URL = os.environ["CORKBOARD_URL"]


def get(path):
    headers = {"apikey": os.environ["CORKBOARD_KEY"]}
    return urllib.request.urlopen(urllib.request.Request(URL + path, headers=headers))


found = {"events": 0, "pins": 0, "pages": 0, "boards": 0, "points": 0, "code": ""}
actors = set()
cursor = ""
while True:
    with get("/v1/events?limit=5000&start=0" + cursor) as response:
        events = [corkboard.event_from_dict(one) for one in json.load(response)]
        link = re.search(r"[?&]cursor=([^&>]+)", response.headers.get("link", ""))
    found["pages"] += 1
    for event in events:
        found["events"] += 1
        found["pins"] += event.pin is not None
        assert event.timestamp.utcoffset() is not None
        actors.add(event.actor.id)
    if link is None:
        break
    cursor = "&cursor=" + link.group(1)
with get("/v1/boards") as response:
    boards = [corkboard.board_from_dict(one) for one in json.load(response)]
found["boards"] = sum(board.title != "" for board in boards)
with get("/v1/board/" + os.environ["CORKBOARD_BOARD"] + "/points") as response:
    points = corkboard.points_map_from_dict(json.load(response))
found["points"] = sum(record.total_points for record in points.values())
try:
    get("/v1/events?limit=0")
except urllib.error.HTTPError as error:
    problem = corkboard.problem_from_dict(json.load(error))
    if problem.code is corkboard.Code.PARAMETER_MALFORMED:
        found["code"] = problem.code.value
print(json.dumps({**found, "actors": len(actors)}))
