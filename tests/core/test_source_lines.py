"""Every node knows the learner's line that made it, wherever that line stands."""

import linecache
import threading
from pathlib import Path

import pytest

import tutorlib as tl


def run_cell(code, name="<ipython-input-3-0123456789ab>", **given):
    """Run ``code`` as IPython runs a cell: compiled under a name of its own, its text known to linecache."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    namespace = {"tl": tl, **given}
    exec(compile(code, name, "exec"), namespace)
    return namespace


def underlined(source):
    """The part of the line that a message underlines."""
    text, marks = source.pointer().split("\n")
    return text[marks.index("~") : marks.rindex("~") + 1]


def recorded(value=2.0):
    return tl.tensor(value, requires_grad=True)


def test_a_node_made_in_a_file_names_file_line_and_text():
    x = recorded()
    y = x * 3  # this line
    source = y.source
    assert source.filename == __file__
    assert source.text == "y = x * 3  # this line"
    assert source.where == f"{Path(__file__).name}:{source.line}"
    assert Path(__file__).read_text().splitlines()[source.line - 1].strip() == source.text
    assert underlined(source) == "x * 3"
    assert not source.in_cell


def test_the_static_mode_knows_lines_as_the_dynamic_one_does():
    a = tl.scalar("a")
    b = tl.exp(a) + 1
    assert b.node.source.text == "b = tl.exp(a) + 1"
    assert underlined(b.node.source) == "tl.exp(a) + 1"
    assert underlined(b.node.inputs[0].node.source) == "tl.exp(a)"


def test_several_ops_of_one_line_are_told_apart_by_their_columns():
    x = recorded()
    y = (x + 1) * (x - 2)
    left, right = y.inputs
    assert underlined(left.source) == "x + 1"
    assert underlined(right.source) == "x - 2"


def test_a_cell_is_named_as_a_cell_not_by_its_made_up_file_name():
    names = run_cell("x = tl.tensor(2.0, requires_grad=True)\ny = x * 3\n")
    assert names["y"].source.where == "cell, line 2"
    assert names["y"].source.text == "y = x * 3"
    assert names["y"].source.in_cell


def test_a_cell_of_a_running_kernel_is_a_cell_too():
    names = run_cell("y = tl.scalar('a') * 3\n", name="/tmp/ipykernel_4711/1234567.py")
    assert names["y"].node.source.where == "cell, line 1"


def test_an_error_in_a_cell_shows_the_cells_line():
    with pytest.raises(tl.ShapeError, match=r"at cell, line 2:\n +z = x \+ y\n +~~~~~"):
        run_cell("x, y = tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.0, 3.0])\nz = x + y\n")


def test_a_bengali_line_is_shown_whole_and_underlined_at_the_right_place():
    names = run_cell("ক = tl.tensor(2.0, requires_grad=True)\nযোগফল = ক + 1  # এক যোগ\n")
    source = names["যোগফল"].source
    assert source.text == "যোগফল = ক + 1  # এক যোগ"
    assert underlined(source) == "ক + 1"


def test_an_expression_over_several_lines_is_found_by_the_line_it_starts_on():
    names = run_cell("x = tl.tensor(2.0, requires_grad=True)\ny = (\n    x\n    * 3\n)\n")
    source = names["y"].source
    assert (source.line, source.end_line) == (3, 4)
    assert source.text == "x"


def test_a_node_made_inside_a_learners_function_names_the_line_in_the_function():
    def model(x):
        return tl.tanh(x)

    assert model(recorded()).source.text == "return tl.tanh(x)"


def test_a_lambda_and_a_comprehension_are_the_learners_lines_too():
    double = lambda v: v * 2
    results = [v + 1 for v in [recorded()]]
    assert underlined(double(recorded()).source) == "v * 2"
    assert underlined(results[0].source) == "v + 1"


def test_a_composite_op_is_one_line_of_the_learner_not_many_of_ours():
    x = recorded([1.0, 2.0])
    y = tl.stack([x, x])
    assert all(node.source.text == "y = tl.stack([x, x])" for node in tl.toposort([y]))


def test_threads_know_their_own_lines():
    found = {}

    def first():
        found["first"] = (recorded() * 2).source.text

    def second():
        found["second"] = (recorded() * 3).source.text

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["first"] == 'found["first"] = (recorded() * 2).source.text'
    assert found["second"] == 'found["second"] = (recorded() * 3).source.text'


def test_a_backward_node_has_the_line_of_the_forward_node_it_came_from():
    x = tl.scalar("x")
    y = tl.sin(x)
    slope = tl.grad(y, x)  # not this line
    assert slope.node.role == "backward"
    assert slope.node.origin is y.node
    assert slope.node.source.text == "y = tl.sin(x)"


def test_context_gives_the_lines_around_and_the_place_among_them():
    names = run_cell("a = 1\nx = tl.tensor(2.0, requires_grad=True)\ny = x * 3\nz = 4\n")
    assert names["y"].source.context(1) == (["x = tl.tensor(2.0, requires_grad=True)", "y = x * 3", "z = 4"], 1)
    assert names["x"].source is None


def test_context_stops_at_the_first_and_last_line():
    names = run_cell("y = tl.scalar('a') * 3\n", name="<ipython-input-4-x>")
    assert names["y"].node.source.context(5) == (["y = tl.scalar('a') * 3"], 0)


def test_a_line_whose_text_is_gone_still_has_a_number():
    names = {"tl": tl}
    exec(compile("\ny = tl.scalar('a') * 3", "<string>", "exec"), names)
    source = names["y"].node.source
    assert (source.where, source.text, source.pointer()) == ("cell, line 2", "", "")


def test_operators_from_the_right_and_numpys_protocols_know_the_line():
    x = recorded([1.0, 2.0])
    import numpy as np

    y = 2 - x
    z = np.exp(x)
    w = np.ones(2) @ x
    assert y.source.text == "y = 2 - x"
    assert z.source.text == "z = np.exp(x)"
    assert w.source.text == "w = np.ones(2) @ x"
