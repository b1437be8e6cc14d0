"""Two runs of a pipeline in a folder: `python dlt_copy.py dlt|rules FOLDER`. Prints its events.

`dlt` loads into DuckDB, `rules` into the tables of `dlt_rules.py`. The second run, of the same
source, must not change anything.
"""
import json
import os
import pathlib
import sys

from corkboard_client import Client
from corkboard_client.copies import EVENTS
from corkboard_client.dlt_source import corkboard_source
from dlt_rules import Rules


def rows_by_rules(client, folder):
    dlt = sys.modules["dlt"] = Rules(folder / "copy.json")
    source = corkboard_source(client)
    for _ in range(2):
        dlt.run(source)
        assert_lists(client, *(list(dlt.tables[name].values()) for name in ("users", "boards")))
        yield [[row[name] for name in EVENTS] for row in dlt.tables["events"].values()]


def rows_in_duckdb(client, folder):
    import dlt

    pipeline = dlt.pipeline(
        "copy",
        destination=dlt.destinations.duckdb(str(folder / "copy.duckdb")),
        dataset_name="school",
        pipelines_dir=str(folder / "pipelines"),
    )
    columns = ", ".join(name for name in EVENTS if name != "timestamp")
    moment = "strftime(timestamp AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%g+00:00')"
    source = corkboard_source(client)
    for _ in range(2):
        pipeline.run(source)
        with pipeline.sql_client() as database:
            with database.execute_query(f"SELECT {columns}, {moment} FROM events") as cursor:
                yield [list(row) for row in cursor.fetchall()]


def assert_lists(client, users, boards):
    assert users == list(client.users())
    assert boards == list(client.boards())


if __name__ == "__main__":
    manner, folder = sys.argv[1:]
    # Small pages, so that a run has several batches.
    client = Client(os.environ["CORKBOARD_URL"], os.environ["CORKBOARD_KEY"], page_size=3)
    read = rows_in_duckdb if manner == "dlt" else rows_by_rules
    first, second = read(client, pathlib.Path(folder))
    assert sorted(map(json.dumps, first)) == sorted(map(json.dumps, second))
    for row in first:
        print(json.dumps(row))
