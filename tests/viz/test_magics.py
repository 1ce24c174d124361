"""The cell magics as a notebook runs them: what a cell computed is drawn, a cell runs on symbols or on tensors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import tutorlib as tl
from tutorlib.viz import display


@pytest.fixture
def shell(monkeypatch):
    """A shell with the extension loaded, static pictures, and its displayed bundles in `shell.shown`."""
    InteractiveShell.clear_instance()
    running = InteractiveShell.instance()
    running.kernel = SimpleNamespace()
    running.display_pub = CapturingDisplayPublisher()
    monkeypatch.setattr(display, "_chosen", ["static"])
    monkeypatch.setattr(display, "ipython_shell", lambda: running)
    running.run_cell("%load_ext tutorlib")
    running.user_ns |= {"tl": tl, "np": np}
    running.shown = running.display_pub.outputs
    yield running
    InteractiveShell.clear_instance()


def run(shell, text: str):
    """Run a cell that must not fail."""
    done = shell.run_cell(text)
    done.raise_error()
    return done


def drawn(shell) -> list[str]:
    """The texts of the pictures shown so far."""
    return [out["data"]["text/plain"] for out in shell.shown if "image/svg+xml" in out["data"]]


def test_graph_draws_the_last_expression(shell):
    run(shell, "%%graph\nx = tl.tensor(3.0, requires_grad=True, name='x')\ny = x * x\ny + 1")
    assert drawn(shell)[0].startswith("out add")
    assert float(shell.user_ns["y"].data) == 9.0


def test_graph_draws_what_the_cell_assigned_last(shell):
    run(shell, "%%graph\nx = tl.tensor(3.0, requires_grad=True, name='x')\ny = x * x\nn = 5")
    assert drawn(shell)[0].startswith("out y = mul")


def test_lines_are_numbered_as_the_learner_sees_them(shell):
    run(shell, "%%graph\nx = tl.scalar('x')\nz = x * x")
    assert "(cell, line 3)" in drawn(shell)[0]


def test_graph_draws_the_names_given_with_options(shell):
    run(shell, "x, y = tl.scalar('x'), tl.scalar('y')\na = x * y\nb = a + y")
    run(shell, "%%graph a b --wrt x --LR\nc = 1")
    assert "a = mul" in drawn(shell)[0] and "∂" in drawn(shell)[0]
    run(shell, "%graph b")
    assert drawn(shell)[1].startswith("out b = add")


def test_graph_draws_a_function_as_it_runs(shell):
    run(shell, "%%graph --rewritten\nx = tl.vector('x')\ntl.function([x], tl.log(1 + tl.exp(x)))")
    assert drawn(shell)[0].startswith("out softplus")


def test_static_builds_without_a_value_and_dynamic_computes(shell, capsys):
    run(shell, "x, w = np.array([1.0, 2.0]), 3.0")
    run(shell, "%%static x\nh = x * w\nh.sum()")
    assert "x stand for symbols" in capsys.readouterr().out
    assert shell.user_ns["h"].kind == "output"
    first = drawn(shell)[0].splitlines()[0]
    assert first.startswith("out sum [") and first.endswith("] float64 ()  (cell, line 3)")
    run(shell, "%%dynamic x\nh = x * w\nh.sum()")
    np.testing.assert_array_equal(shell.user_ns["h"].data, [3.0, 6.0])
    assert "= 9" in drawn(shell)[1].splitlines()[0]


def test_afterwards_the_names_stand_for_what_they_did(shell):
    run(shell, "x = np.array([1.0, 2.0])")
    before = shell.user_ns["x"]
    run(shell, "%%static x\ny = x + 1")
    assert shell.user_ns["x"] is before
    shell.run_cell("%%static x\ny = x @ np.ones((5, 5))")
    assert shell.user_ns["x"] is before
    run(shell, "%%static x --keep\ny = x + 1")
    f = tl.function([shell.user_ns["x"]], shell.user_ns["y"])
    np.testing.assert_array_equal(f(before), [2.0, 3.0])


def test_a_name_that_the_cell_assigns_keeps_what_it_got(shell):
    run(shell, "x = np.array([1.0, 2.0])")
    run(shell, "%%static x\nx = x + 1")
    assert shell.user_ns["x"].node.op.name == "add"


def test_without_names_every_array_and_leaf_tensor_that_is_read_stands_for_a_symbol(shell, capsys):
    run(shell, "x, t, unread, n = np.ones(2), tl.tensor([1.0, 2.0], name='t'), np.ones(3), 4")
    run(shell, "%%static\nlocal = x * t\nlocal ** n")
    assert "static: x, t stand for symbols" in capsys.readouterr().out


def test_a_value_may_be_given_with_the_name(shell):
    run(shell, "%%dynamic x=[1.0, 2.0]\ny = x * 2")
    np.testing.assert_array_equal(shell.user_ns["y"].data, [2.0, 4.0])
    assert "x" not in shell.user_ns


def test_parameters_show_their_shared_face_in_static(shell):
    run(shell, "p = tl.Parameter([1.0, 2.0], name='p')")
    run(shell, "%%static\nq = p * 2")
    assert isinstance(shell.user_ns["q"], tl.Symbol)


def test_modes_runs_the_cell_both_ways_and_changes_no_name(shell):
    run(shell, "x = np.array([1.0, 2.0])")
    run(shell, "%%modes x\ny = x * x\ny.sum()")
    assert "--- static graph" in drawn(shell)[0] or "Both graphs are the same." in drawn(shell)[0]
    assert "y" not in shell.user_ns


def test_an_error_in_the_cell_is_the_learners_own(shell):
    done = shell.run_cell("%%graph\nx = 1 / 0")
    assert isinstance(done.error_in_exec, ZeroDivisionError)
    done = shell.run_cell("%%static x=[1.0, 2.0]\nif x.sum() > 0:\n    y = x")
    assert isinstance(done.error_in_exec, tl.ModeMixError)
    assert done.error_in_exec.source.where == "cell, line 2"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("%%graph\nn = 5", "made nothing with a graph"),
        ("%%graph loss\nn = 5", "no variable called loss"),
        ("%graph", "name what to draw"),
        ("%%graph --colour\nn = 5", r"%%graph \[names"),
        ("%%graph --step one\nn = 5", r"%%graph \[names"),
        ("%%static f\nf", "f is function, not numbers"),
        ("%%dynamic s\ns", "s is a symbol and has no value"),
        ("%%dynamic 2x\n1", "2x is not a name"),
        ("%%modes a\ny = a", "end the cell with an expression"),
    ],
)
def test_what_a_magic_cannot_do_is_said_in_words(shell, text, says):
    shell.user_ns |= {"f": lambda: 0, "s": tl.scalar("s"), "a": np.ones(2)}
    done = shell.run_cell(text)
    with pytest.raises(Exception, match=says):
        done.raise_error()


def test_unloading_takes_them_away(shell):
    run(shell, "%unload_ext tutorlib")
    assert "graph" not in shell.magics_manager.magics["cell"]
