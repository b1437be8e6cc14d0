"""The Airbyte manifest, with its references resolved."""
import pathlib

import yaml

MANIFEST = pathlib.Path(__file__).parent.parent / "airbyte" / "manifest.yaml"


def read_manifest():
    manifest = yaml.safe_load(MANIFEST.read_text("utf-8"))
    return resolved(manifest, manifest)


def resolved(part, whole):
    """References are replaced by copies; members beside a reference are added to it."""
    if isinstance(part, list):
        return [resolved(one, whole) for one in part]
    if not isinstance(part, dict):
        return part
    own = {name: resolved(value, whole) for name, value in part.items() if name != "$ref"}
    if "$ref" not in part:
        return own
    target = whole
    for name in part["$ref"].removeprefix("#/").split("/"):
        target = target[name]
    return {**resolved(target, whole), **own}
