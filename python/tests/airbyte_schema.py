"""Validates the Airbyte manifest with the schema in the package airbyte-cdk."""
import importlib.resources

import jsonschema
import yaml
from airbyte_manifest import read_manifest

folder = importlib.resources.files("airbyte_cdk.sources.declarative")
schema = yaml.safe_load((folder / "declarative_component_schema.yaml").read_text("utf-8"))
jsonschema.validate(read_manifest(), schema)
