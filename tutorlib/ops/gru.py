"""Gated recurrent units over a whole sequence, built as ``lstm`` is: a tape of all steps, the states taken from it, and
one op that runs the steps backwards.

The inputs' part of the gates' arguments is computed for all steps before the first one; a step's product of (h; 1) is
what waits for the state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.graph import Op, aval_of
from tutorlib.ops.composed import pulled_back
from tutorlib.ops.define import public, register
from tutorlib.ops.elementwise import square
from tutorlib.ops.join import concatenate, split, stack
from tutorlib.ops.linalg import matmul
from tutorlib.ops.recurrent import (
    bias_gradient,
    first_step,
    floats,
    gate_weights,
    plus,
    sizes_of,
    steps_known,
    through_weights,
)
from tutorlib.ops.shape import shape_of, transpose
from tutorlib.ops.special import sigmoid
from tutorlib.ops.trigonometry import tanh


class _Tape:
    """The parts of a tape (steps + 1, rows, batch): gates r z n, the state's part of n's argument, and (h; 1)."""

    def __init__(self, tape: Any, units: int) -> None:
        H = units
        self.gates, self.from_h, self.operand = tape[:, : 3 * H], tape[:, 3 * H : 4 * H], tape[:, 4 * H :]
        self.h = tape[:, 4 * H : 5 * H]


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
    for t in range(T):
        a, m, h = kept.gates[t], kept.from_h[t], kept.h[t]
        product(V, kept.operand[t], out=u)
        sigmoids, n = a[: 2 * H], a[2 * H :]
        add(sigmoids, u[: 2 * H], out=sigmoids)
        xp.exp(sigmoids, out=sigmoids)
        add(sigmoids, one, out=sigmoids)
        xp.divide(one, sigmoids, out=sigmoids)
        m[...] = u[2 * H :]
        multiply(a[:H], m, out=new)
        add(n, new, out=n)
        xp.tanh(n, out=n)
        xp.subtract(h, n, out=new)
        multiply(new, a[H : 2 * H], out=new)
        add(n, new, out=kept.h[t + 1])
    return tape


def _gru_forward(xp: Any, tape: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any) -> Any:
    return xp.ascontiguousarray(_Tape(tape, Wh.shape[0]).h)


def _gru_back_forward(
    xp: Any, g: Any, tape: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any, out: Any = None
) -> Any:
    (T, B, _), H = x.shape, Wh.shape[0]
    dtype = tape.dtype
    kept = _Tape(tape, H)
    back = xp.empty((7, H, T, B), dtype) if out is None else out
    W = xp.ascontiguousarray(Wh, dtype)
    one = xp.asarray(1, dtype)
    product, add, subtract, multiply = xp.dot, xp.add, xp.subtract, xp.multiply
    d, slope, dn = xp.empty((3 * H, B), dtype), xp.empty((2 * H, B), dtype), xp.empty((H, B), dtype)
    dh, rest = xp.zeros((H, B), dtype), xp.empty((H, B), dtype)
    of_r, of_z, of_m = (d[k * H : (k + 1) * H] for k in range(3))
    parts = d.reshape(3, H, B)
    for t in range(T - 1, -1, -1):
        a, m = kept.gates[t], kept.from_h[t]
        sigmoids, r, z, n = a[: 2 * H], a[:H], a[H : 2 * H], a[2 * H :]
        add(dh, g[t + 1], out=dh)
        multiply(sigmoids, sigmoids, out=slope)
        subtract(sigmoids, slope, out=slope)
        multiply(dh, z, out=rest)
        subtract(dh, rest, out=dn)
        multiply(n, n, out=of_m)
        subtract(one, of_m, out=of_m)
        multiply(dn, of_m, out=dn)
        subtract(kept.h[t], n, out=of_z)
        multiply(dh, of_z, out=of_z)
        multiply(dn, m, out=of_r)
        multiply(d[: 2 * H], slope, out=d[: 2 * H])
        multiply(dn, r, out=of_m)
        back[:2, :, t], back[2, :, t], back[3:6, :, t] = parts[:2], dn, parts
        product(W, d, out=dh)
        add(dh, rest, out=dh)
        back[6, :, t] = dh
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
        d = [dr, dz, dn, dr, dz, dn * r]
        dh = matmul(concatenate(d[3:], axis=1), transpose(Wh)) + dh * z
        slots.append(stack([transpose(part) for part in (*d, dh)]))
    return stack(slots[::-1], axis=2)


def _gru_back_vjp(u: Any, needs: list[bool], out: Any, g: Any, tape: Any, x: Any, *rest: Any) -> list[Any]:
    if shape_of(x)[0] == 0:
        return [None] * len(needs)
    found = pulled_back(_gru_back_in_steps, (g, x, *rest), [needs[0], *needs[2:]], u)
    return [found[0], None, *found[1:]]


def _gru_vjp(
    g: Any, needs: list[bool], states: Any, tape: Any, x: Any, h0: Any, Wx: Any, Wh: Any, b: Any, bh: Any
) -> list[Any]:
    back = _gru_back(g, tape, x, h0, Wx, Wh, b, bh)
    of_x, of_h = back[:3], back[3:6]
    return [
        None,
        through_weights(of_x, Wx) if needs[1] else None,
        transpose(g[0]) + first_step(back[6]) if needs[2] else None,
        gate_weights(of_x, x) if needs[3] else None,
        gate_weights(of_h, transpose(states[:-1], (0, 2, 1))) if needs[4] else None,
        bias_gradient(of_x, b) if needs[5] else None,
        bias_gradient(of_h, bh) if needs[6] else None,
    ]


def _gru_sizes(x: AVal, h0: AVal, Wx: AVal, Wh: AVal, b: AVal, bh: AVal) -> Any:
    return sizes_of("gru", 3, x, [h0], Wx, Wh, [b, bh])


def _gru_tape_infer(*avals: AVal) -> AVal:
    steps, batch, _, units, dtype = _gru_sizes(*avals)
    return AVal((plus(steps, 1), None if units is None else 5 * units + 1, batch), dtype)


def _gru_infer(tape: AVal, *avals: AVal) -> AVal:
    steps, batch, _, units, dtype = _gru_sizes(*avals)
    return AVal((plus(steps, 1), units, batch), dtype)


def _gru_back_infer(g: AVal, tape: AVal, *avals: AVal) -> AVal:
    steps, batch, _, units, dtype = _gru_sizes(*avals)
    return AVal((7, units, steps, batch), dtype)


_gru_tape: Op = register(
    Op(
        "gru_tape",
        _gru_tape_forward,
        _gru_tape_infer,
        flags={"nondiff", "fills"},
        doc="The gates and states of a GRU at every step, kept for the way back.",
    )
)
_gru: Op = register(
    Op("gru", _gru_forward, _gru_infer, _gru_vjp, doc="The states h₀ … h_T of a GRU, (units, batch) each.")
)
_gru_back: Op = register(
    Op(
        "gru_back",
        _gru_back_forward,
        _gru_back_infer,
        _gru_back_vjp,
        flags={"fills"},
        doc="The gradients of a GRU's gates' arguments, of x's part and of h's, and of h before each step.",
    )
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
