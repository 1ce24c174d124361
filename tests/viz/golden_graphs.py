"""The graphs whose layouts are stored: `python tests/viz/golden_graphs.py` writes `layouts/` after a wanted change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.viz.graph_spec import graph_spec

FOLDER = Path(__file__).parent / "layouts"


def _dense(x: Any, name: str, rows: int, columns: int) -> Any:
    weights = tl.Parameter(np.linspace(-1, 1, rows * columns).reshape(rows, columns), name=f"W{name}")
    return x @ weights + tl.Parameter(np.zeros(columns), name=f"b{name}")


def mlp() -> dict[str, Any]:
    """Three dense layers, forward and backward."""
    x = tl.tensor(np.ones((4, 3)), name="x")
    for i in range(3):
        x = tl.tanh(_dense(x, str(i), 3, 3))
    loss = (x**2).mean()
    loss.backward()
    return graph_spec(loss)


def lstm() -> dict[str, Any]:
    """Four turns of an LSTM cell, forward."""
    kernel = tl.Parameter(np.linspace(-1, 1, 32).reshape(4, 8), name="W")
    h = c = tl.tensor(np.zeros((1, 2)), name="zero")
    for t in range(4):
        both = tl.concatenate([tl.tensor(np.ones((1, 2)), name=f"x{t}"), h], axis=1)
        gates = both @ kernel
        i, f, o = (tl.sigmoid(gates[:, 2 * k : 2 * k + 2]) for k in range(3))
        c = f * c + i * tl.tanh(gates[:, 6:])
        h = o * tl.tanh(c)
    return graph_spec(h.sum(), wrt=[])


def residual() -> dict[str, Any]:
    """Three blocks, each with a way around it, forward and backward."""
    x = tl.tensor(np.ones((2, 3)), requires_grad=True, name="x")
    h = x
    for i in range(3):
        h = h + tl.relu(_dense(h, str(i), 3, 3))
    loss = h.sum()
    loss.backward()
    return graph_spec(loss)


def attention() -> dict[str, Any]:
    """One attention head, forward and backward."""
    x = tl.tensor(np.linspace(0, 1, 12).reshape(3, 4), name="x")
    q, k, v = (x @ tl.Parameter(np.eye(4), name=name) for name in ("Q", "K", "V"))
    out = tl.softmax(q @ k.T / 2.0, axis=-1) @ v
    loss = out.sum()
    loss.backward()
    return graph_spec(loss)


def static() -> dict[str, Any]:
    """A compiled function with two updates."""
    x, y = tl.matrix("x"), tl.vector("y")
    w, b = tl.shared(np.ones(3), name="w"), tl.shared(0.0, name="b")
    loss = ((x @ w + b - y) ** 2).mean()
    step = tl.function(
        [x, y], loss, updates=[(p, p - 0.1 * g) for p, g in zip((w, b), tl.grad(loss, [w, b]), strict=True)]
    )
    return graph_spec(step)


GRAPHS: dict[str, Callable[[], dict[str, Any]]] = {
    "mlp": mlp, "lstm": lstm, "residual": residual, "attention": attention, "static": static,
}  # fmt: skip


def layout_of(spec: dict[str, Any]) -> dict[str, Any]:
    """The places of what is drawn, as they are stored: boxes by label and id, and the size."""
    labels = {node["id"]: node["label"] for node in spec["graph"]["nodes"]}
    boxes = {f"{name} {labels.get(name, '')}".strip(): box for name, box in spec["layout"]["nodes"].items()}
    return {"nodes": boxes, "edges": spec["layout"]["edges"], "size": spec["layout"]["size"]}


if __name__ == "__main__":
    for name, make in GRAPHS.items():
        text = json.dumps(layout_of(make()), ensure_ascii=False, sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text.replace('], "', '],\n"') + "\n", encoding="utf-8")
