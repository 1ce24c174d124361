"""A rewrite log written to a file and read again: the same steps and graphs, without the function and without code."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.errors import TutorlibError


def softplus():
    x = tl.vector("x")
    hidden = tl.log(1 + tl.exp(x)) * 1
    return tl.function([x], hidden)


def training_step():
    w, X, y = tl.shared(np.ones((3, 1)), name="w"), tl.matrix("X"), tl.matrix("y")
    loss = ((X @ w - y) ** 2).mean()
    return tl.function([X, y], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))])


def looping():
    xs, start = tl.vector("xs"), tl.scalar("start")
    _, ys = tl.scan(lambda total, x: (total + x * 1, total * 1), xs, start)
    return tl.function([xs, start], ys)


def shape_of(log, n: int) -> list[str]:
    """The graph after n steps as debugprint text."""
    return [tl.debugprint(v) for v in log.goto(n)]


@pytest.mark.parametrize("make", [softplus, training_step])
def test_every_graph_comes_back(make, tmp_path):
    log = make().log
    loaded = tl.load_log(log.save(tmp_path / "steps"))
    assert [(s.n, s.rule, s.says, s.check) for s in loaded] == [(s.n, s.rule, s.says, s.check) for s in log]
    assert repr(loaded) == repr(log) and loaded.rewrites == log.rewrites
    for n in [*range(len(log) + 1), 1, 0, len(log)]:
        assert shape_of(loaded, n) == shape_of(log, n)


def test_the_rewrites_inside_a_loop_come_back(tmp_path):
    log = looping().log
    loaded = tl.load_log(log.save(tmp_path / "loop"))
    (node, inside), (again, inner) = log.inside[0], loaded.inside[0]
    assert again.op.name == node.op.name == "scan"
    assert [step.rule for step in inner] == [step.rule for step in inside] != []
    titles = [step["title"] for step in tl.CompareView(loaded).spec["steps"]]
    assert "scan: times_one" in titles
    assert titles == [step["title"] for step in tl.CompareView(log).spec["steps"]]


def test_lines_and_near_misses_come_back(tmp_path):
    n = tl.symbol("n", (None,), "float32")
    log = tl.function([n], n * np.float64(1.0)).log
    loaded = tl.load_log(log.save(tmp_path / "near.json"))
    assert [(m.rule, m.why) for m in loaded.near] == [(m.rule, m.why) for m in log.near]
    source, again = log.near[0].at.node.source, loaded.near[0].at.node.source
    assert (again.where, again.text, again.context(1)) == (source.where, source.text, source.context(1))


def test_a_saved_log_is_drawn_as_the_log_itself(tmp_path):
    log = softplus().log
    loaded = tl.load_log(log.save(tmp_path / "a"))
    assert tl.CompareView(loaded).describe() == tl.CompareView(log).describe()
    assert tl.CompareView(loaded, step=2).svg() == tl.CompareView(log, step=2).svg()


def test_saving_leaves_the_log_where_it_stood(tmp_path):
    f = softplus()
    f.log.goto(1)
    f.log.save(tmp_path / "a")
    assert f.log.at == 1
    np.testing.assert_allclose(f([0.0]), [np.log(2)])


def test_an_existing_file_is_kept_unless_one_says_so(tmp_path):
    log = softplus().log
    file = log.save(tmp_path / "a")
    file.write_text("mine")
    with pytest.raises(FileExistsError):
        log.save(tmp_path / "a")
    assert file.read_text() == "mine"
    log.save(tmp_path / "a", overwrite=True)
    assert len(tl.load_log(file)) == len(log)


def test_the_file_is_json_that_any_reader_takes(tmp_path):
    x = tl.vector("x")
    log = tl.function([x], tl.where(x > np.inf, x * 1, np.float64("nan"))).log
    text = log.save(tmp_path / "a").read_text(encoding="utf-8")
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["format"] == 1
    assert len(tl.load_log(tmp_path / "a")) == len(log)


def test_large_constants_and_shared_values_are_not_in_the_file(tmp_path):
    w = tl.shared(np.full((400, 400), 7.25), name="w")
    log = tl.function([], (w * np.full((400, 400), 3.5) * 1).sum()).log
    file = log.save(tmp_path / "a")
    assert file.stat().st_size < 40_000
    (left, _), *_ = [(n.inputs) for n in tl.toposort(tl.load_log(file).goto(0)) if n.op.name == "mul"]
    assert (left.name, left.kind, left.shape) == ("w", "shared", (400, 400))


def test_a_learners_own_op_is_read_by_its_name_alone(tmp_path):
    data = json.loads(softplus().log.save(tmp_path / "a").read_text(encoding="utf-8"))
    for node in data["nodes"]:
        if node["op"] == "exp":
            node["op"] = "__import__('os').system"
            node["attrs"] = {"x": {"text": "__import__('os')"}}
    (tmp_path / "b.json").write_text(json.dumps(data), encoding="utf-8")
    loaded = tl.load_log(tmp_path / "b")
    (strange,) = [n for n in tl.toposort(loaded.goto(0)) if n.op.name.startswith("__import__")]
    assert repr(strange.attrs["x"]) == "__import__('os')"
    with pytest.raises(TutorlibError, match="not in the op table"):
        strange.op.on_numpy(1.0)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind": "tutorlib rewrite log", "format": 99}', "\x00"])
def test_other_files_are_refused_in_words(tmp_path, text):
    file = tmp_path / "a.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TutorlibError, match=r"is not a rewrite log|has format 99"):
        tl.load_log(file)


def test_a_damaged_file_is_refused_in_words(tmp_path):
    data = json.loads(softplus().log.save(tmp_path / "a").read_text(encoding="utf-8"))
    data["states"][0]["outputs"] = [10_000]
    (tmp_path / "b.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(TutorlibError, match="damaged"):
        tl.load_log(tmp_path / "b")
    with pytest.raises(TutorlibError, match="there is no file"):
        tl.load_log(tmp_path / "c")
