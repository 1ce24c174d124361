"""Writes the specs in fixtures/, which the Python and the JavaScript tests share: `python tests/viz/make_fixtures.py`.

The graphs are written out by hand, with the numbers from NumPy, so that they do not depend on the engine.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tutorlib.viz.face import shape_text, shorten
from tutorlib.viz.spec import assemble, letter_of
from tutorlib.viz.values import describe_value, number

FOLDER = Path(__file__).parent / "fixtures"


class Sketch:
    """Collects nodes, edges, values and events under the ids of the contract."""

    def __init__(self, lines=()):
        self.nodes, self.edges, self.trace, self.values, self.lines = [], [], [], {}, list(lines)
        self.arrays = {}

    def value(self, array):
        key = f"v{len(self.values)}"
        self.values[key] = describe_value(np.asarray(array))
        return key

    def node(self, kind, label, array=None, *, op=None, name=None, line=None, formula=None, scope="", **more):
        array = None if array is None else np.asarray(array, dtype=float)
        key = f"n{len(self.nodes)}"
        src = None
        if line is not None:
            first = max(0, line - 3)
            src = {
                "where": f"cell, line {line}",
                "text": self.lines[line - 1],
                "context": self.lines[first : line + 2],
                "at": line - 1 - first,
            }
        self.nodes.append(
            {
                "id": key,
                "kind": kind,
                "op": op,
                "name": name,
                "letter": letter_of(kind, op),
                "label": shorten(label),
                "scope": scope,
                "shape": None if array is None else list(array.shape),
                "dtype": "float64",
                "device": "cpu",
                "src": src,
                "formula": formula,
                "requires_grad": True,
                "value": None if array is None else self.value(array),
                "grad": None,
                **more,
            }
        )
        self.arrays[key] = array
        return key

    def edge(self, s, t, kind="forward", port=0, broadcast=()):
        source = self.nodes[int(s[1:])]
        self.edges.append(
            {
                "id": f"e{len(self.edges)}",
                "s": s,
                "t": t,
                "kind": kind,
                "port": port,
                "label": shape_text(source["shape"]),
                "broadcast": list(broadcast),
            }
        )

    def op(self, op, inputs, array, **more):
        label = f"{more['name']} = {op}" if more.get("name") else op
        key = self.node(more.pop("kind", "op"), label, array, op=op, **more)
        for port, source in enumerate(inputs):
            self.edge(source, key, "gradient" if self.nodes[int(source[1:])]["kind"] == "gradient" else "forward", port)
        return key

    def gradient(self, of, label, array, sources, saved=(), **more):
        key = self.node("gradient", label, array, grad_of=of, **more)
        for port, source in enumerate(sources):
            self.edge(source, key, "gradient", port)
        for port, source in enumerate(saved):
            self.edge(source, key, "saved", port)
        self.nodes[int(of[1:])]["grad"] = self.nodes[-1]["value"]
        return key

    def step(self, phase, node, inputs, formula="", numbers="", parts=()):
        event = {
            "t": len(self.trace),
            "phase": phase,
            "node": node,
            "inputs": inputs,
            "value": self.nodes[int(node[1:])]["value"],
            "formula": formula,
            "numbers": numbers,
        }
        if parts:
            event["parts"] = [self.value(p) for p in parts]
        self.trace.append(event)

    def spec(self, **more):
        return assemble(self.nodes, self.edges, self.trace, self.values, **more)


def tiny():
    """z = (x + y) * y at x = 1, y = 2: z = 6, dz/dx = 2, dz/dy = 2 + 3 = 5 (two parts)."""
    s = Sketch(
        [
            "x = tl.tensor(1.0, requires_grad=True, name='x')",
            "y = tl.tensor(2.0, requires_grad=True, name='y')",
            "q = x + y",
            "z = q * y",
            "z.backward()",
        ]
    )
    x, y = s.node("input", "x", 1.0, name="x", line=1), s.node("input", "y", 2.0, name="y", line=2)
    add = {"forward": "z = x + y", "backward": ["∂L/∂x = ∂L/∂z", "∂L/∂y = ∂L/∂z"]}
    mul = {"forward": "z = x · y", "backward": ["∂L/∂x = ∂L/∂z · y", "∂L/∂y = ∂L/∂z · x"]}
    q = s.op("add", [x, y], 3.0, name="q", line=3, formula=add)
    z = s.op("mul", [q, y], 6.0, name="z", line=4, formula=mul, kind="output")
    gz = s.gradient(z, "∂z/∂z", 1.0, [z], name="∂z/∂z", line=5)
    gq = s.gradient(q, "∂z/∂q", 2.0, [gz], [y], name="∂z/∂q", line=5)
    gy = s.gradient(y, "∂z/∂y", 5.0, [gz, gq], [q], name="∂z/∂y", line=5)
    gx = s.gradient(x, "∂z/∂x", 2.0, [gq], name="∂z/∂x", line=5)
    s.step("forward", x, [], "", "1")
    s.step("forward", y, [], "", "2")
    s.step("forward", q, [x, y], "q = x + y", "3 = 1 + 2")
    s.step("forward", z, [q, y], "z = q · y", "6 = 3 · 2")
    s.step("backward", gz, [], "∂z/∂z = 1", "1")
    s.step("backward", gq, [gz], "∂z/∂q = ∂z/∂z · y", "2 = 1 · 2")
    s.step("backward", gx, [gq], "∂z/∂x = ∂z/∂q", "2")
    s.step("backward", gy, [gz, gq], "∂z/∂y = ∂z/∂z · q + ∂z/∂q", "5 = 3 + 2", parts=[3.0, 2.0])
    return s.spec()


def mlp():
    """Two dense layers, a squared error and a gradient step on four shared variables."""
    rng = np.random.default_rng(7)
    data = {
        "X": rng.normal(size=(8, 3)),
        "Y": rng.normal(size=(8, 2)),
        "W1": rng.normal(size=(3, 16)),
        "b1": np.zeros(16),
        "W2": rng.normal(size=(16, 2)) / 4,
        "b2": np.zeros(2),
    }
    lines = [
        "X, Y = tl.matrix('X'), tl.matrix('Y')",
        "h = tl.relu(X @ W1 + b1)",
        "p = h @ W2 + b2",
        "loss = ((p - Y) ** 2).mean()",
        "grads = tl.grad(loss, params)",
        "step = tl.function([X, Y], loss, updates=[(p, p - 0.1 * g) for p, g in zip(params, grads)])",
    ]
    s = Sketch(lines)
    v = {}

    def leaf(kind, name, line=1, scope=""):
        v[name] = s.node(kind, name, data[name], name=name, line=line, scope=scope)

    def forward(key, op, inputs, array, line, scope="", **more):
        data[key] = array
        v[key] = s.op(op, [v[i] for i in inputs], array, line=line, scope=scope, **more)
        steps.append((v[key], [v[i] for i in inputs]))

    steps = []
    leaf("input", "X")
    leaf("shared", "W1", 1, "layer1")
    leaf("shared", "b1", 1, "layer1")
    forward("m1", "matmul", ["X", "W1"], data["X"] @ data["W1"], 2, "layer1")
    forward("a1", "add", ["m1", "b1"], data["m1"] + data["b1"], 2, "layer1")
    forward("h", "relu", ["a1"], np.maximum(data["a1"], 0), 2, "layer1", name="h")
    leaf("shared", "W2", 1, "layer2")
    leaf("shared", "b2", 1, "layer2")
    forward("m2", "matmul", ["h", "W2"], data["h"] @ data["W2"], 3, "layer2")
    forward("p", "add", ["m2", "b2"], data["m2"] + data["b2"], 3, "layer2", name="p")
    leaf("input", "Y")
    forward("d", "sub", ["p", "Y"], data["p"] - data["Y"], 4)
    forward("sq", "square", ["d"], data["d"] ** 2, 4)
    forward("loss", "mean", ["sq"], data["sq"].mean(), 4, name="loss", kind="output")
    backs = []

    def back(of, label, array, sources, saved=()):
        data["g" + of] = array
        v["g" + of] = s.gradient(
            v[of], label, array, [v[i] for i in sources], [v[i] for i in saved], line=5, name=label
        )
        backs.append((v["g" + of], [v[i] for i in sources], label))

    back("loss", "∂L/∂loss", 1.0, ["loss"])
    back("sq", "∂L/∂square", np.full((8, 2), 1 / 16), ["gloss"])
    back("d", "∂L/∂sub", 2 * data["d"] / 16, ["gsq"], ["d"])
    back("p", "∂L/∂p", data["gd"], ["gd"])
    back("b2", "∂L/∂b2", data["gp"].sum(0), ["gp"])
    back("m2", "∂L/∂matmul", data["gp"], ["gp"])
    back("W2", "∂L/∂W2", data["h"].T @ data["gm2"], ["gm2"], ["h"])
    back("h", "∂L/∂h", data["gm2"] @ data["W2"].T, ["gm2"], ["W2"])
    back("a1", "∂L/∂add", data["gh"] * (data["a1"] > 0), ["gh"], ["a1"])
    back("b1", "∂L/∂b1", data["ga1"].sum(0), ["ga1"])
    back("m1", "∂L/∂matmul", data["ga1"], ["ga1"])
    back("W1", "∂L/∂W1", data["X"].T @ data["gm1"], ["gm1"], ["X"])
    for node, inputs in steps:
        s.step("forward", node, inputs)
    for node, inputs, label in backs:
        s.step("backward", node, inputs, label)
    for name in ("W1", "b1", "W2", "b2"):
        rate = s.node("constant", "0.1", 0.1, line=6)
        scaled = s.op("mul", [rate, v["g" + name]], 0.1 * data["g" + name], line=6)
        new = s.op("sub", [v[name], scaled], data[name] - 0.1 * data["g" + name], line=6)
        update = s.node("update", f"{name} new", data[name] - 0.1 * data["g" + name], update_of=v[name], line=6)
        s.edge(new, update, "update")
        s.edge(update, v[name], "update")
        s.step("forward", scaled, [rate, v["g" + name]])
        s.step("update", update, [new], f"{name} ← {name} − 0.1 · ∂L/∂{name}")
    return s.spec()


def hostile():
    """Names that hold markup, quotes, line breaks, right-to-left text, ten thousand characters; values not finite."""
    lines = ["x = tl.vector('<script>alert(1)</script>')", "y = tl.log(x)"]
    s = Sketch(lines)
    names = [
        "<script>alert(1)</script>",
        "\"quoted\" & 'single'",
        "two\nlines\tand\0control",
        "مرحبا \u202eabc\u202c",
        "নিউরাল নেটওয়ার্ক",
        "long " + "name " * 2000,
    ]
    leaves = [s.node("input", name, [0.0, -1.0, float(i)], name=name, line=1) for i, name in enumerate(names)]
    bad = s.op(
        "log",
        leaves[:1],
        [float("-inf"), float("nan"), float("-inf")],
        kind="error",
        name="]]><img src=x onerror=alert(1)>",
        line=2,
    )
    total = s.op("</text><b>&amp;", [bad, *leaves[1:]], [float("nan")] * 3, kind="output", line=2)
    s.step("forward", bad, leaves[:1], "y = log(<x>)", "[-inf, nan, -inf]")
    s.step("forward", total, [bad, *leaves[1:]], "</script><script>alert(2)</script>", number(float("nan")))
    return s.spec(notes=["<b>note</b>"])


FIXTURES = {"tiny": tiny, "mlp": mlp, "hostile": hostile}

if __name__ == "__main__":
    for name, make in FIXTURES.items():
        text = json.dumps(make(), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
