"""The data contract as tests use it: `conforms(spec)` and the fixtures that the JavaScript tests read too."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema

SCHEMA = json.loads((resources.files("tutorlib.viz") / "spec.schema.json").read_text(encoding="utf-8"))
FIXTURES = {path.stem: path for path in sorted((Path(__file__).parent / "fixtures").glob("*.json"))}


def conforms(spec: dict) -> dict:
    """`spec`, checked: JSON without NaN, valid by the schema, every id that it mentions exists."""
    json.dumps(spec, allow_nan=False)
    jsonschema.validate(spec, SCHEMA)
    values = spec["values"]
    if "graph" not in spec:
        for frame in spec["frames"]:
            assert set(frame["values"].values()) | set(frame["delta"].values()) <= set(values)
        return spec
    nodes = {node["id"] for node in spec["graph"]["nodes"]}
    edges = {edge["id"] for edge in spec["graph"]["edges"]}
    assert set(spec["layout"]["nodes"]) == nodes == set(spec["graph"]["levels"])
    assert set(spec["layout"]["edges"]) == edges
    for node in spec["graph"]["nodes"]:
        assert {node["value"], node["grad"]} - {None} <= set(values)
        assert {node.get("grad_of"), node.get("update_of")} - {None} <= nodes
    for edge in spec["graph"]["edges"]:
        assert {edge["s"], edge["t"]} <= nodes
    for at, event in enumerate(spec["trace"]):
        assert event["t"] == at
        assert {event["node"], *event["inputs"]} <= nodes
        assert {event["value"], *event.get("parts", ())} - {None} <= set(values)
    return spec


def fixture(name: str) -> dict:
    """One of the specs in `fixtures/`."""
    return json.loads(FIXTURES[name].read_text(encoding="utf-8"))
