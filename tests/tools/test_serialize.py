"""Graphs and values saved as plain data and read back."""

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.random_graphs import random_graph
from tutorlib.core.graph import Op


def test_a_graph_comes_back_with_inputs_and_shared_variables_by_name(tmp_path):
    x, w = tl.matrix("x"), tl.shared([1.0, 2.0], name="w")
    file = tl.save_graph(tmp_path / "model", [(x @ w).sum(), w * 2])
    loaded = tl.load_graph(file)
    assert file.suffix == ".npz" and set(loaded.inputs) == {"x"} and set(loaded.shared) == {"w"}
    total = loaded.outputs[0].eval({loaded.inputs["x"]: [[1.0, 1.0], [2.0, 0.0]]})
    assert total == 5.0
    loaded.shared["w"].set_value([0.0, 1.0])
    assert loaded.outputs[1].eval().tolist() == [0.0, 2.0] and w.get_value().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_and_their_gradients_compute_the_same(tmp_path, seed):
    inputs, out = random_graph(seed, 8)
    roots = [out, tl.grad(tl.sum(out), inputs[0], disconnected="zero")]
    loaded = tl.load_graph(tl.save_graph(tmp_path / "g", roots))
    values = dict(zip("xy", np.random.default_rng(seed).normal(size=(2, 3, 4)), strict=True))
    for before, after in zip(roots, loaded.outputs, strict=True):
        given = {loaded.inputs[n]: values[n] for n in loaded.inputs}
        leaves = {v.name for v in tl.leaves_of([after]) if isinstance(v, tl.Input)}
        got = after.eval({v: value for v, value in given.items() if v.name in leaves})
        want = before.eval({v: values[v.name] for v in inputs if v.name in leaves})
        np.testing.assert_array_equal(got, want)


def test_attributes_of_every_kind(tmp_path):
    x = tl.symbol("x", (4, 5))
    roots = [
        x[1:3, ..., None],
        x[tl.symbol("i", (2,), "int64")],
        tl.clip(x, None, 2.0),
        tl.sum(x, axis=(0, 1), keepdims=True),
        tl.transpose(x),
        tl.concatenate([x, x], axis=1),
        tl.cast(x, "float32"),
    ]
    loaded = tl.load_graph(tl.save_graph(tmp_path / "g", roots))
    given = {loaded.inputs["x"]: np.arange(20.0).reshape(4, 5), loaded.inputs["i"]: [2, 0]}
    for before, after in zip(roots, loaded.outputs, strict=True):
        assert after.shape == before.shape and after.dtype == before.dtype
        needed = {id(v) for v in tl.leaves_of([after])}
        after.eval({v: value for v, value in given.items() if id(v) in needed})


def test_an_op_outside_the_table_is_refused_with_its_line(tmp_path):
    own = Op("own", lambda xp, x: x, lambda x: x)
    y = own(tl.scalar("x"))  # a learner's op
    with pytest.raises(tl.TutorlibError, match="not in the op table") as error:
        tl.save_graph(tmp_path / "g", y)
    assert "a learner's op" in str(error.value)


def test_values_come_back_into_every_kind_of_variable(tmp_path):
    variables = {
        "shared": tl.shared([1.0, 2.0]),
        "parameter": tl.Parameter([3.0]),
        "tensor": tl.tensor([4.0], requires_grad=True),
    }
    file = tl.save_values(tmp_path / "v", variables)
    variables["shared"].set_value([0.0, 0.0])
    variables["parameter"].data = np.zeros(1)
    variables["tensor"].data = np.zeros(1)
    tl.load_values(file, variables)
    assert variables["shared"].get_value().tolist() == [1.0, 2.0]
    assert variables["parameter"].tolist() == [3.0] and variables["tensor"].tolist() == [4.0]


def test_a_value_that_does_not_fit_changes_nothing(tmp_path):
    a, b = tl.shared(1.0), tl.shared([2.0, 3.0])
    file = tl.save_values(tmp_path / "v", {"a": a, "b": b})
    a.set_value(9.0)
    with pytest.raises(tl.ShapeError, match="b has shape"):
        tl.load_values(file, {"a": a, "b": tl.shared([1.0])})
    with pytest.raises(tl.TutorlibError, match="names differ"):
        tl.load_values(file, {"a": a})
    assert a.get_value() == 9.0


def test_a_failed_save_leaves_the_earlier_file(tmp_path, monkeypatch):
    w = tl.shared(1.0)
    file = tl.save_values(tmp_path / "v", {"w": w})
    before = file.read_bytes()

    def fails(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OSError, match="disk full"):
        tl.save_values(tmp_path / "v", {"w": w})
    assert file.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["v.npz"]


@pytest.mark.parametrize("content", [b"", b"not a file of ours", b"PK\x03\x04broken"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(tl.TutorlibError):
        tl.load_graph(tmp_path / "x.npz")


def test_no_pickle_is_ever_read(tmp_path):
    np.savez(tmp_path / "x.npz", graph=np.array([{"evil": 1}], dtype=object))
    with pytest.raises((tl.TutorlibError, ValueError)):
        tl.load_graph(tmp_path / "x.npz")


def _loops_and_branches():
    x, xs, rows = tl.scalar("x"), tl.vector("xs"), tl.matrix("rows")
    last, seen = tl.scan(lambda c, r: (c * 0.5 + r, tl.tanh(c)), xs, tl.scalar("start"))
    nested, _ = tl.scan(lambda c, row: (tl.scan(lambda d, e: (d * e, None), row, c)[0], None), rows, x)
    return {
        "ifelse": tl.ifelse(x > 0, lambda: tl.sqrt(x), lambda: x * x),
        "scan": last + tl.sum(seen),
        "nested": nested,
        "truncated": tl.scan(lambda c, r: (c * r, None), xs, 1.0, truncate=2)[0],
        "while_loop": tl.while_loop(lambda v: v < 100.0, lambda v: v * v + 1, x),
        "bounded": tl.while_loop(lambda v: v < 100.0, lambda v: v * v + 1, x, max_steps=20),
    }


VALUES = {"x": 1.5, "xs": [0.5, -1.0, 2.0], "start": 0.25, "rows": [[1.0, 2.0], [0.5, 3.0]]}


@pytest.mark.parametrize("kind", ["ifelse", "scan", "nested", "truncated", "while_loop", "bounded"])
def test_control_flow_comes_back_with_its_gradients(tmp_path, kind):
    out = _loops_and_branches()[kind]
    leaves = [v for v in tl.leaves_of([out]) if isinstance(v, tl.Input)]
    roots = [out] if kind == "while_loop" else [out, *tl.grad(out, leaves)]
    loaded = tl.load_graph(tl.save_graph(tmp_path / "g", roots))
    assert set(loaded.inputs) == {v.name for v in leaves}

    def computed(inputs, outputs):
        f = tl.function(list(inputs), outputs, on_unused_input="ignore")
        return f(*(VALUES[v.name] for v in inputs))

    for before, after in zip(computed(leaves, roots), computed(loaded.inputs.values(), loaded.outputs), strict=True):
        np.testing.assert_array_equal(before, after)
    if kind != "while_loop":  # the graph that was read can be differentiated again
        again = tl.grad(loaded.outputs[0], [loaded.inputs[v.name] for v in leaves])
        for before, after in zip(computed(leaves, roots[1:]), computed(loaded.inputs.values(), again), strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-12)


def test_random_streams_go_on_where_they_were(tmp_path):
    draw = tl.random.Stream(3, static=True).normal((2,))
    f = tl.function([], draw)
    first = f()
    loaded = tl.load_graph(tl.save_graph(tmp_path / "g", draw))
    g = tl.function([], loaded.outputs[0])
    draws = [first]
    for _ in range(3):
        draws.append(f())
        np.testing.assert_array_equal(draws[-1], g())
    assert len({d.tobytes() for d in draws}) == 4


def test_roles_and_scopes_come_back(tmp_path):
    x = tl.scalar("x")
    with tl.scope("layer"):
        y = tl.exp(x)
    loaded = tl.load_graph(tl.save_graph(tmp_path / "g", [y, tl.grad(y, x)]))
    assert loaded.outputs[0].node.scope == "layer" and loaded.outputs[1].node.role == "backward"


def test_leaves_of_one_name_and_of_none_are_told_apart(tmp_path):
    x, y = tl.vector("x"), tl.vector("x")
    out = x - 2.0 * y + tl.shared(1.0) * tl.shared(2.0, name="বাংলা α/β") - tl.symbol(None, (None,))
    loaded = tl.load_graph(tl.save_graph(tmp_path / "names", out))
    assert list(loaded.inputs) == ["x", "x_2", "input"] and list(loaded.shared) == ["shared", "বাংলা α/β"]
    values = dict(zip(loaded.inputs.values(), ([5.0], [1.0], [0.5]), strict=True))
    assert loaded.outputs[0].eval(values) == 5.0 - 2.0 + 2.0 - 0.5


@pytest.mark.parametrize("make", [lambda a: tl.shared(a, name="b"), lambda a: tl.tensor(a), lambda a: tl.Parameter(a)])
def test_values_of_another_dtype_change_nothing(tmp_path, make):
    file = tl.save_values(tmp_path / "values", {"a": tl.shared([1.0, 1.0]), "b": tl.shared([2.0, 2.0])})
    a, b = tl.shared([0.0, 0.0], name="a"), make(np.zeros(2, "float32"))
    with pytest.raises(tl.DTypeError, match="b is float32, the file holds float64"):
        tl.load_values(file, {"a": a, "b": b})
    assert a.get_value().tolist() == [0.0, 0.0]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(tl.TutorlibError, match="there is no folder"):
        tl.save_values(tmp_path / "nowhere" / "values", {"a": tl.shared(1.0)})
