"""Runs of a pipeline in a folder: `python dlt_copy.py dlt|rules FOLDER [cut|changed]`.

`dlt` loads into DuckDB, `rules` into the tables of `dlt_rules.py`. With a third word, two runs that
fail after their first batch come first. Then there are three runs, the second with a new source,
the third with that of the first. All must have the same events, which are printed.
"""
import json
import os
import pathlib
import sys

from corkboard_client import Client, CorkboardError
from corkboard_client.copies import EVENTS
from corkboard_client.dlt_source import corkboard_source
from corkboard_client.sync import Batch
from dlt_rules import Rules

FAILURE = "the connection is cut"


class Watched(Client):
    """Keeps the sync tokens that it sends, and counts the changes that it receives."""

    def __init__(self, failure=None):
        # Small pages, so that a run has several batches.
        super().__init__(os.environ["CORKBOARD_URL"], os.environ["CORKBOARD_KEY"], page_size=3)
        self.failure = failure
        self.tokens = []
        self.changes = 0

    def sync(self, token=None):
        self.tokens.append(token)
        for batch in super().sync(token):
            self.changes += len(batch.events) + len(batch.deleted) + len(batch.forgotten)
            yield batch
            if self.failure == "cut":
                raise OSError(FAILURE)
            if self.failure == "changed":
                yield Batch(starts_anew=True)


class ByRules:
    def __init__(self, folder):
        self.file = folder / "copy.json"
        self.rules = sys.modules["dlt"] = Rules(self.file)

    def run(self, source):
        self.rules.run(source)
        for name, expected in (("users", Watched().users()), ("boards", Watched().boards())):
            assert list(self.rules.tables[name].values()) == list(expected)

    def rows(self):
        return [[row[name] for name in EVENTS] for row in self.rules.tables["events"].values()]


class InDuckdb:
    def __init__(self, folder):
        import dlt

        self.pipeline = dlt.pipeline(
            "copy",
            destination=dlt.destinations.duckdb(str(folder / "copy.duckdb")),
            dataset_name="school",
            pipelines_dir=str(folder / "pipelines"),
        )

    def run(self, source):
        self.pipeline.run(source)

    def rows(self):
        columns = ", ".join(name for name in EVENTS if name != "timestamp")
        moment = "strftime(timestamp AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%g+00:00')"
        with self.pipeline.sql_client() as database:
            with database.execute_query(f"SELECT {columns}, {moment} FROM events") as cursor:
                return [list(row) for row in cursor.fetchall()]


def causes_of(error):
    """The error and those that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def fail(copy, failure):
    """Runs that fail leave the table and the token of the last run. Returns that token."""
    before = sorted(map(json.dumps, copy.rows()))
    tokens = []
    for _ in range(2):
        client = Watched(failure)
        try:
            copy.run(corkboard_source(client))
        except Exception as error:
            causes = list(causes_of(error))
        else:
            raise AssertionError("the run has not failed")
        if failure == "cut":
            assert any(FAILURE in str(cause) for cause in causes), causes
        else:
            codes = [cause.code for cause in causes if isinstance(cause, CorkboardError)]
            assert "scope-changed" in codes, causes
        assert client.changes > 0
        tokens += client.tokens
        assert sorted(map(json.dumps, copy.rows())) == before
    assert tokens[0] is not None and tokens == [tokens[0]] * 2, tokens
    return tokens[0]


def main(manner, folder, failure=None):
    copy = {"dlt": InDuckdb, "rules": ByRules}[manner](pathlib.Path(folder))
    known = None if failure is None else fail(copy, failure)
    client = Watched()
    source = corkboard_source(client)
    copy.run(source)
    assert failure is None or client.tokens == [known], client.tokens
    rows = copy.rows()
    later = Watched()
    copy.run(corkboard_source(later))
    assert later.tokens[0] is not None and len(later.tokens) == 1, later.tokens
    assert later.changes == 0, later.changes
    expected = sorted(map(json.dumps, rows))
    assert sorted(map(json.dumps, copy.rows())) == expected
    copy.run(source)
    assert sorted(map(json.dumps, copy.rows())) == expected
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main(*sys.argv[1:])
