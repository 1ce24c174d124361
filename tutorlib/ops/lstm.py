"""Long short-term memory over a whole sequence.

Inside, everything is transposed: a step's values are (features, batch), so that each gate is one contiguous block of
rows, and one matrix product of the stacked operand (x; h; 1) does input, state and bias of all four gates. In the
working copy of the weights the rows of the sigmoids, 1 / (1 + e⁻ᵃ), have the minus sign in them.

``lstm_tape`` runs the steps and keeps what the way back needs; ``lstm`` takes the states from it, and carries the
gradient; ``lstm_back`` runs the steps backwards, to the gradients of the gates' arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.graph import aval_of
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public
from tutorlib.ops.elementwise import square
from tutorlib.ops.join import concatenate, split, stack
from tutorlib.ops.linalg import matmul
from tutorlib.ops.recurrent import (
    along_steps,
    first_step,
    floats,
    gate_weights,
    gates_inside,
    layer_ops,
    piece_of,
    sizes_of,
    steps_known,
    through_weights,
)
from tutorlib.ops.shape import expand_dims, shape_of, transpose
from tutorlib.ops.special import sigmoid
from tutorlib.ops.trigonometry import tanh

# Gates as the caller has them are i f g o; inside the three sigmoids stand together, i f o g.
_INSIDE = (0, 1, 3, 2)


class _Tape:
    """The parts of a tape (steps + 1, rows, batch): gates, tanh c, c, and the operand (x; h; 1)."""

    def __init__(self, tape: Any, units: int) -> None:
        H = units
        self.gates, self.tanh_c, self.c = tape[:, : 4 * H], tape[:, 4 * H : 5 * H], tape[:, 5 * H : 6 * H]
        self.operand = tape[:, 6 * H :]
        self.h = tape[:, -H - 1 : -1]
        self.by_gate = [self.gates[:, k * H : (k + 1) * H] for k in range(4)]


def _lstm_tape_forward(xp: Any, x: Any, h0: Any, c0: Any, Wx: Any, Wh: Any, b: Any, out: Any = None) -> Any:
    (T, B, D), H = x.shape, Wh.shape[0]
    dtype = np.result_type(*(v.dtype for v in (x, h0, c0, Wx, Wh, b)))
    tape = xp.empty((T + 1, 7 * H + D + 1, B), dtype) if out is None else out
    kept = _Tape(tape, H)
    kept.operand[:T, :D] = x.transpose(0, 2, 1)
    kept.operand[:, -1] = 1
    kept.h[0], kept.c[0] = h0.T, c0.T
    tape[T, : 5 * H], kept.operand[T, :D] = 0, 0  # after the last step there are no gates and no input
    W = xp.empty((4, H, D + H + 1), dtype)
    for place, gate in enumerate(_INSIDE):
        part = slice(gate * H, (gate + 1) * H)
        W[place, :, :D], W[place, :, D:-1], W[place, :, -1] = Wx[:, part].T, Wh[:, part].T, b[part]
    xp.negative(W[:3], out=W[:3])
    W = W.reshape(4 * H, D + H + 1)
    one = xp.asarray(1, dtype)
    product, add, multiply, divide, exp_of, tanh_of = xp.dot, xp.add, xp.multiply, xp.divide, xp.exp, xp.tanh
    new = xp.empty((H, B), dtype)
    parts = [kept.operand, kept.gates, kept.gates[:, : 3 * H], *kept.by_gate]
    parts += [kept.c, kept.c[1:], kept.tanh_c, kept.h[1:]]
    for operand, a, sigmoids, i, f, o, u, before, c, tanh_c, h in along_steps(T, *parts):
        product(W, operand, a)
        tanh_of(u, u)
        exp_of(sigmoids, sigmoids)
        add(sigmoids, one, sigmoids)
        divide(one, sigmoids, sigmoids)
        multiply(f, before, c)
        multiply(i, u, new)
        add(c, new, c)
        tanh_of(c, tanh_c)
        multiply(o, tanh_c, h)
    return tape


def _lstm_forward(xp: Any, tape: Any, x: Any, h0: Any, c0: Any, Wx: Any, Wh: Any, b: Any, out: Any = None) -> Any:
    kept = _Tape(tape, Wh.shape[0])
    shape = (tape.shape[0] + 1, Wh.shape[0], tape.shape[2])
    states = xp.empty(shape, tape.dtype) if out is None else out
    states[:-1], states[-1] = kept.h, kept.c[-1]
    return states


def _lstm_back_forward(
    xp: Any, g: Any, tape: Any, x: Any, h0: Any, c0: Any, Wx: Any, Wh: Any, b: Any, out: Any = None
) -> Any:
    (T, B, _), H = x.shape, Wh.shape[0]
    dtype = tape.dtype
    kept = _Tape(tape, H)
    back = xp.empty((T, 5, H, B), dtype) if out is None else out
    W = gates_inside(xp, Wh, _INSIDE, dtype)
    one = xp.asarray(1, dtype)
    product, add, subtract, multiply = xp.dot, xp.add, xp.subtract, xp.multiply
    rest, v, w = xp.empty((3 * H, B), dtype), xp.empty((H, B), dtype), xp.empty((H, B), dtype)
    dh, dc = xp.zeros((H, B), dtype), g[T + 1]
    flat = back.reshape(T, 5 * H, B)
    parts = [kept.gates[:, : 3 * H], *kept.by_gate, kept.c, kept.tanh_c, g[1:]]
    parts += [flat[:, : 4 * H], flat[:, : 3 * H], *(back[:, k] for k in range(5))]
    steps = along_steps(T, *parts, backwards=True)
    for sigmoids, i, f, o, u, c, tanh_c, given, d, of_sigmoids, of_i, of_f, of_o, of_u, of_c in steps:
        add(dh, given, dh)
        multiply(dh, o, v)
        multiply(v, tanh_c, of_o)
        multiply(of_o, tanh_c, w)
        subtract(v, w, v)  # through tanh: p (1 − tanh²) as p − p tanh tanh
        add(v, dc, v)  # the cotangent of c
        multiply(v, f, of_c)
        multiply(of_c, c, of_f)
        multiply(v, i, of_u)
        multiply(of_u, u, of_i)
        multiply(of_i, u, w)
        subtract(of_u, w, of_u)
        subtract(one, sigmoids, rest)
        multiply(of_sigmoids, rest, of_sigmoids)
        dc = of_c
        product(W, d, dh)
    return back


def _lstm_back_in_steps(g: Any, x: Any, h0: Any, c0: Any, Wx: Any, Wh: Any, b: Any) -> Any:
    """What ``lstm_back`` computes, in public ops."""
    h, c, kept = h0, c0, []
    for t in range(steps_known(x, "lstm")):
        i, f, u, o = split(matmul(x[t], Wx) + matmul(h, Wh) + b, 4, axis=1)
        i, f, u, o = sigmoid(i), sigmoid(f), tanh(u), sigmoid(o)
        before, c = c, f * c + i * u
        tanh_c = tanh(c)
        kept.append((i, f, u, o, before, tanh_c))
        h = o * tanh_c
    dh, dc, slots = 0.0, transpose(g[-1]), []
    for t, (i, f, u, o, before, tanh_c) in reversed(list(enumerate(kept))):
        dh = dh + transpose(g[t + 1])
        v = dc + dh * o * (1 - square(tanh_c))
        d = [v * u * i * (1 - i), v * before * f * (1 - f), v * i * (1 - square(u)), dh * tanh_c * o * (1 - o)]
        dc = v * f
        slots.append(stack([transpose(part) for part in (*(d[gate] for gate in _INSIDE), dc)]))
        dh = matmul(concatenate(d, axis=1), transpose(Wh))
    return stack(slots[::-1])


def _lstm_vjp(
    g: Any, needs: list[bool], states: Any, tape: Any, x: Any, h0: Any, c0: Any, Wx: Any, Wh: Any, b: Any
) -> list[Any]:
    back = _lstm_back(g, tape, x, h0, c0, Wx, Wh, b)
    d = back[:, :4]
    weights: Any = None
    if any(needs[4:]):
        weights = gate_weights(d, tape, transpose(x, (0, 2, 1)), states[:-2], order=_INSIDE, ones=True)
    parts = (Wx, Wh, expand_dims(b, 0))
    return [
        None,
        through_weights(d, Wx, _INSIDE) if needs[1] else None,
        transpose(g[0]) + OPS.sum(through_weights(d[:1], Wh, _INSIDE), 0) if needs[2] else None,
        _first_cell(g, back[:, 4], x) if needs[3] else None,
        *(piece_of(weights, parts, i) if need else None for i, need in enumerate(needs[4:6])),
        piece_of(weights, parts, 2)[0] if needs[6] else None,
    ]


def _first_cell(g: Any, dc: Any, x: Any) -> Any:
    """The cotangent of c₀: what the first step hands back; without any step it is that of the last c itself."""
    if shape_of(x)[0] == 0:
        return transpose(g[-1])
    handed_back = first_step(dc)
    if shape_of(x)[0] is not None:
        return handed_back
    return handed_back + transpose(g[-1]) * (1 - first_step(OPS.ones_like(dc)))


def _lstm_sizes(x: AVal, h0: AVal, c0: AVal, Wx: AVal, Wh: AVal, b: AVal) -> Any:
    return sizes_of("lstm", 4, x, [h0, c0], Wx, Wh, [b])


_lstm_tape, _lstm, _lstm_back = layer_ops(
    "lstm",
    "an LSTM",
    _lstm_sizes,
    lambda units, inputs: 7 * units + inputs + 1,
    2,
    (_lstm_tape_forward, _lstm_forward, _lstm_back_forward),
    _lstm_vjp,
    _lstm_back_in_steps,
)


@public
def lstm(x: Any, h0: Any, c0: Any, Wx: Any, Wh: Any, b: Any) -> tuple[Any, tuple[Any, Any]]:
    """A layer of long short-term memory over a whole sequence (Hochreiter and Schmidhuber 1997, with forget gates).

    i, f, o = σ(…), g = tanh(…) of x Wx + h Wh + b; then c ← f · c + i · g and h ← o · tanh(c).

    Args:
        x: (steps, batch, inputs).
        h0, c0: the states to start from, (batch, units).
        Wx, Wh, b: (inputs, 4 units), (units, 4 units), (4 units,): the gates i, f, g, o side by side in this order, as
            PyTorch and cuDNN have them (their weights transposed, their two biases added up).

    Returns (ys, (h, c)): all states h, (steps, batch, units), and the last h and c. A gradient of a gradient is worked
    out step by step and needs the number of steps; without it NotDifferentiableError says so. Raises ShapeError.

    >>> import tutorlib as tl
    >>> x, zero = tl.ones_like(tl.tensor([[[0.0]], [[0.0]]])), tl.tensor([[0.0]])
    >>> ys, (h, c) = tl.lstm(x, zero, zero, tl.tensor([[9.0, 9.0, 9.0, 9.0]]), tl.tensor([[0.0] * 4]), [0.0] * 4)
    >>> c.numpy().round(3), ys.shape
    (array([[2.]]), (2, 1, 1))
    """
    x, h0, c0, Wx, Wh, b = floats("lstm", x, h0, c0, Wx, Wh, b)
    _lstm_sizes(*map(aval_of, (x, h0, c0, Wx, Wh, b)))
    tape = _lstm_tape(x, h0, c0, Wx, Wh, b)
    states = _lstm(tape, x, h0, c0, Wx, Wh, b)
    return transpose(states[1:-1], (0, 2, 1)), (transpose(states[-2]), transpose(states[-1]))


attach_to("lstm")
