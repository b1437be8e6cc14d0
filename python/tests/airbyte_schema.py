"""Validates the Airbyte manifest with the schema in the package airbyte-cdk."""
import importlib.resources
import pathlib

import jsonschema
import yaml

MANIFEST = pathlib.Path(__file__).parent.parent / "airbyte" / "manifest.yaml"
folder = importlib.resources.files("airbyte_cdk.sources.declarative")
schema = yaml.safe_load((folder / "declarative_component_schema.yaml").read_text("utf-8"))


def resolved(part, whole):
    if isinstance(part, list):
        return [resolved(one, whole) for one in part]
    if not isinstance(part, dict):
        return part
    own = {name: resolved(value, whole) for name, value in part.items() if name != "$ref"}
    target = whole
    for name in part.get("$ref", "#/").removeprefix("#/").split("/"):
        target = target[name] if name else {}
    return {**resolved(target, whole), **own}


manifest = yaml.safe_load(MANIFEST.read_text("utf-8"))
jsonschema.validate(resolved(manifest, manifest), schema)
