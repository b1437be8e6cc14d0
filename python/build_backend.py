"""Builds the wheel with the standard library alone: `python build_backend.py DIR`, or `pip install .`.

The version is that of the product, in `package.json`.
"""
from __future__ import annotations

import base64
import hashlib
import json
import pathlib
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "corkboard_client"
# The same bytes each time.
MOMENT = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version = json.loads((HERE.parent / "package.json").read_text("utf-8"))["version"]
    info = f"{PACKAGE}-{version}.dist-info"
    readme = (HERE / "README.md").read_text("utf-8")
    files = {
        f"{PACKAGE}/{path.name}": path.read_bytes()
        for path in sorted((HERE / PACKAGE).iterdir())
        if path.suffix in (".py", ".typed")
    }
    files[f"{info}/METADATA"] = metadata(version, readme).encode("utf-8")
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: corkboard\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{name},sha256={digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode("utf-8")
    name = f"{PACKAGE}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(zipfile.ZipInfo(path, MOMENT), content, zipfile.ZIP_DEFLATED)
    return name


def metadata(version, readme):
    fields = [
        "Metadata-Version: 2.1",
        "Name: corkboard-client",
        f"Version: {version}",
        "Summary: Reads events, boards, users, points and insights of a Corkboard server.",
        "License: Apache-2.0",
        "Requires-Python: >=3.9",
        "Provides-Extra: pandas",
        "Requires-Dist: pandas>=2.0; extra == 'pandas'",
        "Provides-Extra: arrow",
        "Requires-Dist: pyarrow>=14; extra == 'arrow'",
        "Provides-Extra: dlt",
        "Requires-Dist: dlt>=1.4; extra == 'dlt'",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(fields) + "\n\n" + readme


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python build_backend.py DIR")
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
