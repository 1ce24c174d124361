"""The data contract as tests use it: `conforms(spec)` and the fixtures that the JavaScript tests read too."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema

from tutorlib.viz.folding import shown

SCHEMA = json.loads((resources.files("tutorlib.viz") / "spec.schema.json").read_text(encoding="utf-8"))
# The schema itself is checked once: that takes longer than checking a spec.
jsonschema.Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FIXTURES = {path.stem: path for path in sorted((Path(__file__).parent / "fixtures").glob("*.json"))}


def conforms(spec: dict) -> dict:
    """`spec`, checked: JSON without NaN, valid by the schema, every id that it mentions exists."""
    json.dumps(spec, allow_nan=False)
    VALIDATOR.validate(spec)
    if "compare" in spec:
        return _compares(spec)
    if "cells" in spec:
        assert set(spec["cells"]) == {layer["id"] for layer in spec["layers"]}
        assert {len(row) for row in spec["cells"].values()} <= {len(spec["steps"])}
        return spec
    if "graph" not in spec:
        for frame in spec["frames"]:
            assert set(frame["values"].values()) | set(frame["delta"].values()) <= set(spec["values"])
        return spec
    return _holds_what_it_names(spec)


def _holds_what_it_names(spec: dict) -> dict:
    values = spec["values"]
    nodes = {node["id"] for node in spec["graph"]["nodes"]}
    edges = {edge["id"] for edge in spec["graph"]["edges"]}
    seen = shown(spec["graph"], spec["collapsed"])
    assert set(spec["layout"]["nodes"]) == {node["id"] for node in seen["nodes"]} == set(spec["levels"])
    assert set(spec["layout"]["edges"]) == {edge["id"] for edge in seen["edges"]} <= edges
    for node in spec["graph"]["nodes"]:
        assert not node["scope"] or node["scope"] in {scope["id"] for scope in spec["graph"]["scopes"]}
    for node in spec["graph"]["nodes"]:
        assert {node["value"], node["grad"]} - {None} <= set(values)
        assert {node.get("grad_of"), node.get("update_of"), node.get("target")} - {None} <= nodes
    for edge in spec["graph"]["edges"]:
        assert {edge["s"], edge["t"]} <= nodes
    for at, event in enumerate(spec["trace"]):
        assert event["t"] == at
        assert {event["node"], *event["inputs"]} <= nodes
        assert {event["value"], *event.get("parts", ())} - {None} <= set(values)
    return spec


def _compares(spec: dict) -> dict:
    """A CompareView's spec: every graph conforms, every number and id that it mentions exists in the right graph."""
    ids = []
    for graph in spec["graphs"]:
        _holds_what_it_names(graph)
        ids.append({node["id"] for node in graph["graph"]["nodes"]})
    assert len(spec["born"]) == len(ids)
    assert all(born is None or set(born) == known for born, known in zip(spec["born"], ids, strict=True))
    for step in spec["steps"]:
        found = spec["matches"][step["match"]]
        left, right = ids[step["left"]["graph"]], ids[step["right"]["graph"]]
        assert {a for a, _, _ in found["pairs"]} | set(found["left"]) == left
        assert {b for _, b, _ in found["pairs"]} | set(found["right"]) == right
        assert set(step["left"]["now"]) <= left and set(step["right"]["now"]) <= right
        for side in ("left", "right"):
            assert step[side]["step"] <= len(spec["graphs"][step[side]["graph"]]["trace"])
    return spec


def fixture(name: str) -> dict:
    """One of the specs in `fixtures/`."""
    return json.loads(FIXTURES[name].read_text(encoding="utf-8"))
