"""The part of dlt that the source uses, over tables in a JSON file, for tests without dlt.

Follows dlt's documents: `replace` empties the table first, `merge` replaces rows with the same
primary key and deletes those whose hard-delete column is true. State is kept if the run succeeds.
"""
import json
import types


class Resource:
    def __init__(self, rows, name, primary_key, write_disposition, columns):
        self.rows, self.name, self.key = rows, name, primary_key
        self.disposition = write_disposition
        self.marks = [column for column, hints in columns.items() if hints.get("hard_delete")]


class Hinted:
    def __init__(self, item, hints):
        self.item, self.hints = item, hints


class Rules(types.ModuleType):
    """Install it as `sys.modules["dlt"]`; `run` loads a source."""

    def __init__(self, file):
        super().__init__("dlt")
        self.file = file
        self.reset()
        self.mark = types.SimpleNamespace(with_hints=Hinted, make_hints=lambda write_disposition: write_disposition)
        self.current = types.SimpleNamespace(resource_state=lambda: self.states.setdefault(self.running, {}))

    def reset(self):
        """To what the last run that succeeded has stored."""
        self.states, self.tables = json.loads(self.file.read_text()) if self.file.exists() else ({}, {})

    def resource(self, rows=None, *, name, primary_key, write_disposition, columns=None):
        if rows is None:
            return lambda function: self.resource(
                function, name=name, primary_key=primary_key, write_disposition=write_disposition, columns=columns
            )
        return Resource(rows, name, primary_key, write_disposition, columns or {})

    def source(self, name):
        return lambda function: function

    def run(self, resources):
        try:
            self.extract(resources)
        except BaseException:
            self.reset()
            raise
        self.file.write_text(json.dumps([self.states, self.tables]))

    def extract(self, resources):
        for resource in resources:
            self.running = resource.name
            # As dlt does before each run.
            if resource.disposition == "replace":
                self.states.pop(resource.name, None)
            rows = []
            for item in resource.rows():
                if isinstance(item, Hinted):
                    resource.disposition, item = item.hints, item.item
                rows += item if isinstance(item, list) else [item]
            self.load(resource, rows)

    def load(self, resource, rows):
        table = self.tables.setdefault(resource.name, {})
        if resource.disposition == "replace":
            table.clear()
        for row in rows:
            key = str(row[resource.key])
            if any(row.get(mark) for mark in resource.marks):
                table.pop(key, None)
            else:
                table[key] = row
