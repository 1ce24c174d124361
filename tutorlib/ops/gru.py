"""Gated recurrent units over a whole sequence, built as ``lstm`` is: a tape of all steps, the states taken from it, and
one op that runs the steps backwards.

The inputs' part of the gates' arguments is computed for all steps before the first one; a step's product of (h; 1) is
what waits for the state.
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
from tutorlib.ops.shape import expand_dims, reshape_like, transpose
from tutorlib.ops.special import sigmoid
from tutorlib.ops.trigonometry import tanh

# Gates as the caller has them are r z n. Their gradients are m r z n, m being the state's part of n's argument: the
# first three met the state, and m has the columns of n, the last three met the input.
_INSIDE = (2, 0, 1)


class _Tape:
    """The parts of a tape (steps + 1, rows, batch): gates r z n, the state's part of n's argument, and (h; 1)."""

    def __init__(self, tape: Any, units: int) -> None:
        H = units
        self.gates, self.from_h, self.operand = tape[:, : 3 * H], tape[:, 3 * H : 4 * H], tape[:, 4 * H :]
        self.h = tape[:, 4 * H : 5 * H]
        self.sigmoids, self.by_gate = tape[:, : 2 * H], [tape[:, k * H : (k + 1) * H] for k in range(3)]


def _gru_tape_forward(xp: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any, out: Any = None) -> Any:
    (T, B, _), H = x.shape, Wh.shape[0]
    dtype = np.result_type(*(v.dtype for v in (x, h0, Wx, Wh, b, bh)))
    tape = xp.empty((T + 1, 5 * H + 1, B), dtype) if out is None else out
    kept = _Tape(tape, H)
    kept.h[0], kept.operand[:, -1] = h0.T, 1
    tape[T, : 4 * H] = 0  # after the last step there are no gates
    W, V, bias = xp.empty((3 * H, x.shape[2]), dtype), xp.empty((3 * H, H + 1), dtype), xp.empty((3 * H, 1), dtype)
    W[...], V[:, :-1], V[:, -1], bias[:, 0] = Wx.T, Wh.T, bh, b
    for part in (W, V, bias):  # the sigmoids, 1 / (1 + e⁻ᵃ), have their minus sign in the weights
        xp.negative(part[: 2 * H], out=part[: 2 * H])
    kept.gates[:T] = xp.matmul(W, x.transpose(0, 2, 1))
    kept.gates[:T] += bias
    one = xp.asarray(1, dtype)
    product, add, multiply = xp.dot, xp.add, xp.multiply
    u, new = xp.empty((3 * H, B), dtype), xp.empty((H, B), dtype)
    of_sigmoids, of_n = u[: 2 * H], u[2 * H :]
    parts = [kept.operand, kept.sigmoids, *kept.by_gate, kept.from_h, kept.h, kept.h[1:]]
    for operand, sigmoids, r, z, n, m, h, after in along_steps(T, *parts):
        product(V, operand, u)
        add(sigmoids, of_sigmoids, sigmoids)
        xp.exp(sigmoids, sigmoids)
        add(sigmoids, one, sigmoids)
        xp.divide(one, sigmoids, sigmoids)
        m[...] = of_n
        multiply(r, m, new)
        add(n, new, n)
        xp.tanh(n, n)
        xp.subtract(h, n, new)
        multiply(new, z, new)
        add(n, new, after)
    return tape


def _gru_forward(xp: Any, tape: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any, out: Any = None) -> Any:
    h = _Tape(tape, Wh.shape[0]).h
    states = xp.empty(h.shape, tape.dtype) if out is None else out
    states[...] = h
    return states


def _gru_back_forward(
    xp: Any, g: Any, tape: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any, out: Any = None
) -> Any:
    (T, B, _), H = x.shape, Wh.shape[0]
    dtype = tape.dtype
    kept = _Tape(tape, H)
    back = xp.empty((T, 5, H, B), dtype) if out is None else out
    flat = back.reshape(T, 5 * H, B)
    W = gates_inside(xp, Wh, _INSIDE, dtype)
    one = xp.asarray(1, dtype)
    product, add, subtract, multiply = xp.dot, xp.add, xp.subtract, xp.multiply
    slope, dh, rest = xp.empty((2 * H, B), dtype), xp.zeros((H, B), dtype), xp.empty((H, B), dtype)
    parts = [kept.sigmoids, *kept.by_gate, kept.from_h, kept.h, g[1:]]
    parts += [flat[:, : 3 * H], flat[:, H : 3 * H], *(back[:, k] for k in range(5))]
    steps = along_steps(T, *parts, backwards=True)
    for sigmoids, r, z, n, m, h, given, d, of_sigmoids, of_m, of_r, of_z, of_n, of_h in steps:
        add(dh, given, dh)
        multiply(sigmoids, sigmoids, slope)
        subtract(sigmoids, slope, slope)
        multiply(dh, z, rest)
        subtract(dh, rest, of_n)
        multiply(n, n, of_m)
        subtract(one, of_m, of_m)
        multiply(of_n, of_m, of_n)
        subtract(h, n, of_z)
        multiply(dh, of_z, of_z)
        multiply(of_n, m, of_r)
        multiply(of_sigmoids, slope, of_sigmoids)
        multiply(of_n, r, of_m)
        product(W, d, dh)
        add(dh, rest, dh)
        of_h[...] = dh
    return back


def _gru_back_in_steps(g: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any) -> Any:
    """What ``gru_back`` computes, in public ops."""
    h, kept = h0, []
    for t in range(steps_known(x, "gru")):
        r, z, n = split(matmul(x[t], Wx) + b, 3, axis=1)
        r_of_h, z_of_h, m = split(matmul(h, Wh) + bh, 3, axis=1)
        r, z = sigmoid(r + r_of_h), sigmoid(z + z_of_h)
        n = tanh(n + r * m)
        kept.append((r, z, n, m, h))
        h = n + z * (h - n)
    dh, slots = 0.0, []
    for t, (r, z, n, m, before) in reversed(list(enumerate(kept))):
        dh = dh + transpose(g[t + 1])
        dn = dh * (1 - z) * (1 - square(n))
        dr, dz = dn * m * r * (1 - r), dh * (before - n) * z * (1 - z)
        dm = dn * r
        dh = matmul(concatenate([dr, dz, dm], axis=1), transpose(Wh)) + dh * z
        slots.append(stack([transpose(part) for part in (dm, dr, dz, dn, dh)]))
    return stack(slots[::-1])


def _gru_vjp(
    g: Any, needs: list[bool], states: Any, tape: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any
) -> list[Any]:
    back = _gru_back(g, tape, x, h0, Wx, Wh, b, bh)
    of_x, of_h = back[:, 1:4], back[:, :3]
    across: Any = None
    if needs[4] or needs[6]:
        across = gate_weights(of_h, tape, states[:-1], order=_INSIDE, ones=True)
    turned, parts = transpose(x, (0, 2, 1)), (Wh, expand_dims(bh, 0))
    return [
        None,
        through_weights(of_x, Wx, (0, 1, 2)) if needs[1] else None,
        transpose(g[0]) + first_step(back[:, 4]) if needs[2] else None,
        gate_weights(of_x, turned, turned, order=(0, 1, 2), ones=False) if needs[3] else None,
        piece_of(across, parts, 0) if needs[4] else None,
        reshape_like(OPS.sum(of_x, (0, 3)), b) if needs[5] else None,
        piece_of(across, parts, 1)[0] if needs[6] else None,
    ]


def _gru_sizes(x: AVal, h0: AVal, Wx: AVal, Wh: AVal, b: AVal, bh: AVal) -> Any:
    return sizes_of("gru", 3, x, [h0], Wx, Wh, [b, bh])


_gru_tape, _gru, _gru_back = layer_ops(
    "gru",
    "a GRU",
    _gru_sizes,
    lambda units, inputs: 5 * units + 1,
    1,
    (_gru_tape_forward, _gru_forward, _gru_back_forward),
    _gru_vjp,
    _gru_back_in_steps,
)


@public
def gru(x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any) -> tuple[Any, Any]:
    """A layer of gated recurrent units over a whole sequence (Cho et al., arXiv:1406.1078v1: reset after the product).

    r, z = σ(x Wx + b + h Wh + bh); n = tanh(x Wx + b + r · (h Wh + bh)); then h ← (1 − z) · n + z · h.

    Args:
        x: (steps, batch, inputs).
        h0: the state to start from, (batch, units).
        Wx, Wh: (inputs, 3 units), (units, 3 units): the gates r, z, n side by side in this order, as PyTorch and cuDNN
            have them (their weights transposed).
        b, bh: (3 units,) each: the biases beside x and beside h.

    Returns (ys, h): all states, (steps, batch, units), and the last one. A gradient of a gradient is worked out step by
    step and needs the number of steps; without it NotDifferentiableError says so. Raises ShapeError.

    >>> import tutorlib as tl
    >>> x, zero, zeros = tl.tensor([[[1.0]], [[1.0]]]), tl.tensor([[0.0]]), tl.tensor([0.0] * 3)
    >>> ys, h = tl.gru(x, zero, tl.tensor([[0.0, 0.0, 9.0]]), tl.tensor([[0.0] * 3]), zeros, zeros)
    >>> ys.numpy().round(3).ravel(), h.numpy().round(3)
    (array([0.5 , 0.75]), array([[0.75]]))
    """
    x, h0, Wx, Wh, b, bh = floats("gru", x, h0, Wx, Wh, b, bh)
    _gru_sizes(*map(aval_of, (x, h0, Wx, Wh, b, bh)))
    tape = _gru_tape(x, h0, Wx, Wh, b, bh)
    states = _gru(tape, x, h0, Wx, Wh, b, bh)
    return transpose(states[1:], (0, 2, 1)), transpose(states[-1])


attach_to("gru")
