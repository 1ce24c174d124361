"""Specs made by hand for the browser tests: a counter with weights over updates, and graphs of any number of nodes."""

from __future__ import annotations

import numpy as np

from tutorlib.viz.values import describe_value


def _node(at: int, **more) -> dict:
    return {
        "id": f"n{at}", "kind": "op", "op": "add", "name": None, "letter": "add", "label": "add",
        "scope": "",
        "shape": [2], "dtype": "float64", "device": "cpu", "src": None, "requires_grad": True,
        "formula": {"forward": "z = x + y", "backward": []}, "value": None, "grad": None,
        "spoken": f"add {at}, operation", **more,
    }  # fmt: skip


def wide_graph(count: int, columns: int = 20) -> dict:
    """A forward graph of `count` ops in rows of `columns`, each fed by the one above it; every op is one step."""
    nodes, edges, trace = [], [], []
    layout: dict = {"nodes": {}, "edges": {}, "labels": {}, "size": [columns * 130.0, (count // columns + 1) * 110.0]}
    values = {"v0": describe_value(np.array([1.0, -2.0]))}
    for i in range(count):
        nodes.append(_node(i, value="v0"))
        x, y = (i % columns) * 130.0 + 10, (i // columns) * 110.0 + 10
        layout["nodes"][f"n{i}"] = [x, y, 110.0, 61.0]
        if i >= columns:
            edges.append(
                {
                    "id": f"e{i}",
                    "s": f"n{i - columns}",
                    "t": f"n{i}",
                    "kind": "forward",
                    "port": 0,
                    "label": "(2,)",
                    "broadcast": [],
                }
            )
            layout["edges"][f"e{i}"] = [[x + 55, y - 49], [x + 55, y]]
        trace.append(
            {"t": i, "phase": "forward", "node": f"n{i}", "inputs": [], "value": "v0", "formula": "z = x + y",
             "numbers": "", "spoken": f"step {i + 1} of {count}, forward, add"}
        )  # fmt: skip
    levels = {node["id"]: 1 for node in nodes}
    return {
        "version": 1, "graph": {"nodes": nodes, "edges": edges, "scopes": []}, "layout": layout,
        "levels": levels, "frames": [], "rows": [], "collapsed": [], "hidden": 0, "notes": [],
        "trace": trace, "values": values, "text": "outline", "summary": f"{count} ops",
    }  # fmt: skip


def _frame(
    update: int, by: str, states: dict[str, np.ndarray], before: dict[str, np.ndarray], values: dict, **more
) -> dict:
    frame: dict = {
        "update": update,
        "by": by,
        "marks": [],
        "values": {},
        "delta": {},
        "norm": {},
        "change": {},
        "returned": None,
        "event": "",
        "branch": 0,
        "loss": None,
        "outline": {},
        "sums": {},
    }
    for name, array in states.items():
        key = f"v{len(values)}"
        values[key] = describe_value(array)
        frame["values"][name] = key
        norm = float(np.linalg.norm(np.nan_to_num(array)))
        frame["norm"][name] = norm
        if name in before:
            delta = array - before[name]
            values[key + "d"] = describe_value(delta)
            frame["delta"][name] = key + "d"
            frame["change"][name] = float(np.linalg.norm(np.nan_to_num(delta))) / (norm or 1.0)
    return frame | more


def counter_and_weights(updates: int = 12) -> dict:
    """A counter that grows by one, a vector that shrinks by a fifth, a matrix that becomes NaN in its last update."""
    rng = np.random.default_rng(0)
    state = {"s0": np.array(0.0), "s1": np.array([1.0, -2.0]), "s2": rng.normal(size=(6, 10))}
    values: dict = {}
    frames = [_frame(0, "start", state, {}, values)]
    for i in range(1, updates + 1):
        before, state = state, {"s0": state["s0"] + 1, "s1": state["s1"] * 0.8, "s2": state["s2"] * 0.9}
        if i == updates:
            state["s2"] = state["s2"].copy()
            state["s2"][2, 3] = np.nan
        frames.append(_frame(i, "increment", state, before, values, returned=str(i - 1)))
    frames[min(4, updates)]["marks"] = ["epoch 1"]
    frames[-1]["event"] = "nan"
    variables = [
        {"id": "s0", "name": "state", "shape": [], "dtype": "float64"},
        {"id": "s1", "name": "w", "shape": [2], "dtype": "float64"},
        {"id": "s2", "name": "W1", "shape": [6, 10], "dtype": "float64"},
    ]
    return {
        "version": 1, "variables": variables, "frames": frames, "values": values, "thinned": 1,
        "name": "", "other": None, "contour": None, "rewind": {"can": True, "why": ""},
        "text": "update  state\n0       0", "summary": f"state, w, W1 over {updates} updates.",
    }  # fmt: skip


def two_runs() -> dict:
    """Two numbers trained, with the loss, its contour, the arithmetic of updates, a rewind, and a second run."""
    values: dict = {}
    state = {"s0": np.array(4.0), "s1": np.array(2.0)}
    frames = [_frame(0, "start", state, {}, values)]
    for i in range(1, 6):
        before, state = state, {name: value / 2 for name, value in state.items()}
        frames.append(_frame(i, "step", state, before, values, returned=str(20.0 / 4**i), loss=20.0 / 4**i))
        row = ["w", f"{before['s0']:g} − 0.25 · {2 * before['s0']:g}", f"{state['s0']:g}"]
        frames[-1]["sums"] = {"s0": {"formula": "w ← w − 0.25 · ∂L/∂w", "rows": [row], "whole": True}}
    frames.append(_frame(6, "rewind to 1", {"s0": np.array(2.0), "s1": np.array(1.0)}, {}, values))
    frames[-1] |= {"event": "rewind", "branch": 1}
    ways = [[[4.0 / 2**i, 2.0 / 2**i, 0] for i in range(6)] + [[2.0, 1.0, 1]], [[4.0, 2.0, 0], [3.0, 1.5, 0]]]
    line = {"level": [4.0, 3.0], "change": [None, 0.25], "numbers": None}
    return {
        "version": 1, "frames": frames, "values": values, "thinned": 1, "name": "first", "text": "", "summary": "w, b",
        "variables": [{"id": f"s{i}", "name": "wb"[i], "shape": [], "dtype": "float64"} for i in (0, 1)],
        "rewind": {"can": True, "why": ""},
        "other": {"name": "second", "updates": [0, 1], "loss": [None, 25.0], "lines": {"s0": line, "s1": line}},
        "contour": {
            "names": ["w", "b"], "x": [-1.0, 5.0], "y": [-1.0, 3.0], "low": 0.0, "high": 34.0, "ways": ways,
            "picture": {"rows": 2, "cols": 2, "data": "AFD+/w=="},
            "levels": [{"value": 1.0, "d": "M0 500L500 0"}, {"value": 4.0, "d": "M0 800L800 0"}],
        },
    }  # fmt: skip
