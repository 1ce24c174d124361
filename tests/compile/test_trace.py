"""``tl.trace``: what is captured, when it is captured again, and what the report says was baked in."""

import sys

import numpy as np
import pytest

import tutorlib as tl

RATE = 0.5
TABLE = np.array([1.0, 2.0])


# ---- values ----


def test_a_traced_function_gives_what_the_function_gives_as_arrays():
    f = tl.trace(lambda x, y: tl.exp(x) @ y)
    x, y = np.array([0.0, 1.0]), np.array([2.0, 3.0])
    assert f(x, y) == pytest.approx(np.exp(x) @ y)
    assert type(f(x, y)) is np.ndarray


def test_the_result_keeps_its_structure():
    f = tl.trace(lambda x: {"twice": x * 2, "more": (x + 1, [x, None]), "n": 3})
    out = f(np.array([1.0]))
    assert out["twice"].tolist() == [2.0]
    assert out["more"][1][0].tolist() == [1.0]
    assert out["more"][1][1] is None
    assert out["n"] == 3


def test_arguments_may_be_nested_tensors_or_by_keyword():
    f = tl.trace(lambda pair, *, scale: (pair["a"] + pair["b"]) * scale)
    assert f({"a": tl.tensor([1.0]), "b": np.array([2.0])}, scale=np.float64(3.0)).tolist() == [9.0]


def test_a_traced_graph_equals_the_hand_built_graph():
    x = tl.vector("x")
    f = tl.trace(lambda x: (x * x).sum() + 1, shapes={"x": (None,)})
    f(np.ones(2))
    assert tl.debugprint(f.graph) == tl.debugprint((x * x).sum() + 1)


def test_gradients_inside_and_of_the_graph():
    def loss(x):
        return (x**3).sum()

    inside = tl.trace(lambda x: tl.grad(loss(x), x))
    assert inside(np.array([1.0, 2.0])).tolist() == [3.0, 12.0]
    outside = tl.trace(loss)
    outside(np.array([1.0, 2.0]))
    gradient = tl.function(outside.inputs, tl.grad(outside.graph, outside.inputs[0]))
    assert gradient([1.0, 2.0]).tolist() == [3.0, 12.0]


def test_on_symbols_it_builds_into_the_graph_around_it():
    f = tl.trace(lambda x: x * x)
    s = tl.scalar("s")
    assert tl.grad(f(s), s).eval({s: 3.0}) == 6.0
    assert f.traces == []


def test_parameters_stay_alive():
    w = tl.Parameter([1.0, 2.0])
    f = tl.trace(lambda x: (x * w).sum())
    assert f(np.ones(2)) == 3.0
    with tl.no_grad():
        w += 1.0
    assert f(np.ones(2)) == 5.0
    assert len(f.traces) == 1


def test_a_random_stream_gives_the_sequence_of_plain_calls():
    stream, plain = tl.random.Stream(0), tl.random.Stream(0)
    f = tl.trace(lambda x: x + stream.normal((2,)))
    for shape in ((2,), (2,), (1, 2), (2,)):
        assert f(np.zeros(shape)).tolist() == (tl.zeros(shape) + plain.normal((2,))).tolist()


def test_control_flow_inside():
    f = tl.trace(lambda x: tl.ifelse(x.sum() > 0, lambda: x * 2, lambda: -x))
    assert f(np.array([1.0])).tolist() == [2.0]
    assert f(np.array([-1.0])).tolist() == [1.0]
    assert len(f.traces) == 1


# ---- when it traces again ----


def test_the_function_runs_once_for_each_shape_and_dtype():
    calls = []

    @tl.trace
    def f(x):
        calls.append(x)
        return x * 2

    for x in (np.ones(2), np.zeros(2), np.ones(3), np.float32([1, 2]), np.ones(2)):
        f(x)
    assert len(calls) == len(f.traces) == 3
    assert f.traces[1].why == "x: float64 (2,) → float64 (3,) (compared with trace 1)"
    assert f.traces[2].why == "x: float64 (2,) → float32 (2,) (compared with trace 1)"


def test_a_length_left_open_needs_no_new_trace():
    f = tl.trace(shapes={"x": (None, 3)})(lambda x: x.sum(axis=0))
    assert f(np.ones((2, 3))).tolist() == [2.0, 2.0, 2.0]
    assert f(np.ones((5, 3))).tolist() == [5.0, 5.0, 5.0]
    assert len(f.traces) == 1
    with pytest.raises(tl.ShapeError, match="asked to take"):
        f(np.ones((5, 4)))


def test_another_python_value_is_another_trace():
    f = tl.trace(lambda x, n, mode="a": x**n)
    f(np.ones(2), 2)
    f(np.ones(2), 3)
    f(np.ones(2), 2)
    f(np.ones(2), 2, mode="b")
    f(np.ones(2), 2.0)
    assert [t.why.split(" (")[0] for t in f.traces[1:]] == ["n: 2 → 3", "mode: 'a' → 'b'", "n: 2 → 2.0"]


def test_a_number_from_around_it_that_changed_is_noticed():
    scale = 2.0
    f = tl.trace(lambda x: x * scale)
    assert f(np.ones(1)) == 2.0
    scale = 3.0
    assert f(np.ones(1)) == 3.0
    assert "scale (from around it): 2.0 → 3.0" in f.traces[1].why


def test_a_global_that_changed_is_noticed(monkeypatch):
    f = tl.trace(lambda x: x * RATE)
    assert f(np.ones(1)) == 0.5
    monkeypatch.setattr(sys.modules[__name__], "RATE", 0.25)
    assert f(np.ones(1)) == 0.25


def test_the_contents_of_an_array_from_around_it_are_compared(monkeypatch):
    table = TABLE.copy()
    f = tl.trace(lambda x: x + table)
    assert f(np.zeros(2)).tolist() == [1.0, 2.0]
    table[0] = 9.0
    assert f(np.zeros(2)).tolist() == [9.0, 2.0]
    assert "table (from around it): other contents than before" in f.traces[1].why


# ---- the report ----


def test_the_report_says_what_was_baked_in_decided_and_printed(capsys):
    @tl.trace
    def f(x, n):
        print("tracing")
        if n > 2:
            x = x + TABLE
        else:
            x = x - 1
        for _ in range(n):
            x = x * RATE
        return x, n

    f(np.ones(2), 2)
    f(np.zeros(2), 2)
    assert capsys.readouterr().out == "tracing\n"
    (trace,) = f.traces
    assert trace.baked["n"] == "2"
    assert trace.baked["RATE (from around it)"] == "0.5"
    assert trace.baked["TABLE (from around it)"] == "array (2,) of float64"
    assert trace.baked["result[1]"] == "2"
    assert [(d.text, d.outcome) for d in trace.branches] == [
        ("if n > 2", "was false"),
        ("for _ in range(n)", "ran 2 times, each a part of the graph"),
    ]
    assert [d.text for d in trace.prints] == ["print('tracing')"]
    assert trace.prints[0].where.startswith("test_trace.py:")
    text = repr(f.report())
    for words in ("f: 1 trace", "the first call", "if n > 2", "not watched"):
        assert words in text


def test_arrays_that_became_constants_are_listed_with_their_line():
    def helper():
        return np.array([5.0, 6.0])

    f = tl.trace(lambda x: x + helper())
    f(np.zeros(2))
    (name,) = f.traces[0].baked
    assert name.startswith("an array used at test_trace.py:")


def test_a_tracer_that_is_set_is_set_again_afterwards():
    def tracer(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        tl.trace(lambda x: x * 2)(np.ones(1))
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is tracer


# ---- refusals ----


def test_an_if_on_a_symbol_names_ifelse():
    @tl.trace
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(tl.ModeMixError, match=r"tl\.ifelse") as caught:
        f(np.ones(2))
    assert caught.value.source.text == "if x.sum() > 0:"


def test_a_gradient_would_be_lost_so_it_is_refused():
    x = tl.tensor([1.0], requires_grad=True)
    with pytest.raises(tl.ModeMixError, match="requires a gradient"):
        tl.trace(lambda x: x * 2)(x)
    with tl.no_grad():
        assert tl.trace(lambda x: x * 2)(x).tolist() == [2.0]


def test_a_recorded_tensor_from_around_it_is_refused():
    w = tl.tensor([1.0], requires_grad=True, name="w")
    with pytest.raises(tl.ModeMixError, match="w is"):
        tl.trace(lambda x: x * w)(np.ones(1))


def test_a_failed_trace_leaves_nothing_behind():
    f = tl.trace(lambda x: x @ np.ones((3, 2)))
    with pytest.raises(tl.ShapeError):
        f(np.ones(2))
    assert f.traces == []
    assert f(np.ones(3)).tolist() == [3.0, 3.0]
    t = tl.tensor([1.0], requires_grad=True)
    assert (t * 2).requires_grad  # dynamic mode is dynamic again


def test_an_unknown_argument_or_no_trace_yet_is_refused():
    with pytest.raises(tl.TutorlibError, match="no argument 'z'"):
        tl.trace(lambda x: x, shapes={"z": (None,)})
    with pytest.raises(tl.TutorlibError, match="nothing is traced"):
        _ = tl.trace(lambda x: x).graph


def test_a_matrix_has_a_trace_too():
    matrix = np.arange(9.0).reshape(3, 3)
    assert tl.trace(matrix) == 12.0
    assert tl.trace(tl.tensor(matrix), offset=1).item() == 6.0
    m = tl.symbol("m", (3, 3))
    assert tl.trace(m).eval({m: matrix}) == 12.0
