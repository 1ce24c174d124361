"""What recurrent layers share: their shapes, and the way from the gradients of gates back to weights and inputs.

Here gradients d of gates' arguments are (steps, gates, units, batch): a step writes them where they stay, and the
gradients of all weights are one matrix product over all steps and examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import DTypeError, NotDifferentiableError, ShapeError
from tutorlib.core.graph import Op, aval_of
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.composed import pulled_back
from tutorlib.ops.convert import cast
from tutorlib.ops.define import register
from tutorlib.ops.einsum import einsum
from tutorlib.ops.join import _part, concatenate
from tutorlib.ops.normalize import _group_channels
from tutorlib.ops.shape import shape_of, transpose


def sizes_of(op: str, gates: int, x: AVal, states: list[AVal], Wx: AVal, Wh: AVal, biases: list[AVal]) -> Any:
    """(steps, batch, inputs, units, dtype) of a recurrent layer. Raises ShapeError where they do not fit."""
    parts = [("x", x, "TBD"), *((name, s, "BH") for name, s in zip(("h0", "c0"), states, strict=False))]
    parts += [("Wx", Wx, "DG"), ("Wh", Wh, "HG"), *((n, v, "G") for n, v in zip(("b", "bh"), biases, strict=False))]
    means = {"T": "steps", "B": "batch", "D": "inputs", "H": "units", "G": f"{gates} · units"}
    found: dict[str, int] = {}

    def wrong(name: str, aval: AVal, letters: str, axis: int | None) -> ShapeError:
        axes = ", ".join(means[c] for c in letters)
        return ShapeError(
            f"{name} needs the shape ({axes})" + ("" if axis is None else f"; the {means[letters[axis]]} do not fit"),
            op=op,
            shapes=[aval.shape],
            wrong_dims=[axis],
            fix=f"units: columns of Wh divided by {gates}; inputs: rows of Wx; x is (steps, batch, inputs)",
        )

    for name, aval, letters in parts:
        if aval.ndim != len(letters):
            raise wrong(name, aval, letters, None)
        for axis, (letter, dim) in enumerate(zip(letters, aval.shape, strict=True)):
            if dim is None:
                continue
            if letter == "G":
                if dim % gates:
                    raise wrong(name, aval, letters, axis)
                letter, dim = "H", dim // gates
            if found.setdefault(letter, dim) != dim:
                raise wrong(name, aval, letters, axis)
    dtype = np.result_type(*(aval.dtype for _, aval, _ in parts))
    return *(found.get(letter) for letter in "TBDH"), dtype


def layer_ops(
    name: str,
    title: str,
    sizes: Callable[..., Any],
    rows: Callable[[int, int], int],
    more: int,
    forwards: Sequence[Callable[..., Any]],
    vjp: Any,
    in_steps: Callable[..., Any],
) -> list[Op]:
    """The three ops of a layer: the tape of all its steps, the states taken from it, and the steps backwards.

    Args:
        title: its name in prose; ``sizes``: ``sizes_of`` for it.
        rows: of the tape, from units and inputs; ``more``: how many more states there are than steps.
        forwards: what the three ops compute. ``vjp``: the gradient of the states.
        in_steps: what the third computes, in public ops.
    """

    def of_tape(*avals: AVal) -> AVal:
        steps, batch, inputs, units, dtype = sizes(*avals)
        return AVal((plus(steps, 1), None if units is None or inputs is None else rows(units, inputs), batch), dtype)

    def of_states(tape: AVal, *avals: AVal) -> AVal:
        steps, batch, _, units, dtype = sizes(*avals)
        return AVal((plus(steps, more), units, batch), dtype)

    def of_back(g: AVal, tape: AVal, *avals: AVal) -> AVal:
        steps, batch, _, units, dtype = sizes(*avals)
        return AVal((steps, 5, units, batch), dtype)

    kept = f"The gates and states of {title} at every step, kept for the way back."
    back = f"The gradients of the arguments of the gates of {title}, and of its state before each step."
    tape_forward, states_forward, back_forward = forwards
    return [
        register(Op(f"{name}_tape", tape_forward, of_tape, flags={"nondiff", "fills"}, doc=kept)),
        register(Op(name, states_forward, of_states, vjp, flags={"fills"}, doc=f"The states of {title}.")),
        register(Op(f"{name}_back", back_forward, of_back, through_steps(in_steps), flags={"fills"}, doc=back)),
    ]


def floats(op: str, *values: Any) -> list[Any]:
    """The values, whole numbers as floating-point ones of the others' dtype."""
    values = tuple(np.asarray(v) if isinstance(v, list | tuple) else v for v in values)
    dtypes = [d for v in values if (d := aval_of(v).dtype).kind == "f"]
    if not dtypes:
        raise DTypeError("weights and states are floating-point numbers", op=op, fix='cast them: W.astype("float32")')
    return [v if aval_of(v).dtype.kind == "f" else cast(v, np.result_type(*dtypes)) for v in values]


def steps_known(x: Any, op: str) -> int:
    """The number of steps, for a gradient of a gradient, which is written out step by step."""
    steps = shape_of(x)[0]
    if steps is None:
        raise NotDifferentiableError(
            "a gradient of a gradient through all steps needs their number",
            op=op,
            fix="give x its length: tl.symbol(name, shape=(50, None, 32)); or write the layer with tl.scan",
        )
    return steps


def along_steps(steps: int, *parts: Any, backwards: bool = False) -> Iterator[Any]:
    """For each step its views of ``parts``, arrays with the steps first; the last step first with ``backwards``."""
    if type(parts[0]) is np.ndarray:  # goes through its rows by itself, at half the cost of asking for each
        return zip(*(part[:steps][::-1] if backwards else part[:steps] for part in parts), strict=True)
    order = range(steps - 1, -1, -1) if backwards else range(steps)
    return ([part[t] for part in parts] for t in order)


def gates_inside(xp: Any, W: Any, order: Sequence[int], dtype: Any) -> Any:
    """A working copy of weights (rows, gates · units) with the gates in the order in which a layer has them inside."""
    rows, units = W.shape[0], W.shape[1] // len(order)
    copy = xp.empty((rows, len(order), units), dtype)
    for place, gate in enumerate(order):
        copy[:, place] = W[:, gate * units : (gate + 1) * units]
    return copy.reshape(rows, W.shape[1])


def through_steps(in_steps: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The gradient of an op that runs the steps backwards; ``in_steps`` computes the same in public ops."""

    def vjp(u: Any, needs: list[bool], out: Any, g: Any, tape: Any, x: Any, *rest: Any) -> list[Any]:
        if shape_of(x)[0] == 0:
            return [None] * len(needs)
        found = pulled_back(in_steps, (g, x, *rest), [needs[0], *needs[2:]], u)
        return [found[0], None, *found[1:]]

    return vjp


# ---- from the gates back to weights and inputs ----

# Elements of the gradients of gates that are copied at a time.
IN_CACHE = 131_072


def _weights_forward(
    xp: Any, d: Any, tape: Any, *parts: Any, order: tuple[int, ...], ones: bool, out: Any = None
) -> Any:
    steps, gates, units, batch = d.shape
    number = sum(part.shape[1] for part in parts) + ones
    met = tape[:steps, tape.shape[1] - number :]
    result = xp.empty((number, gates * units), np.result_type(d.dtype, tape.dtype)) if out is None else out
    result[...] = 0
    # A product over some steps at a time, as many as stay in the cache: steps lie beside each other in it.
    block = max(1, IN_CACHE // max(1, gates * units * batch))
    for first in range(0, steps, block):
        now = slice(first, first + block)
        count = min(block, steps - first)
        flat = xp.empty((gates, units, count, batch), d.dtype)
        for place, gate in enumerate(order):  # the gates as the caller has them
            flat[gate] = d[now, place].transpose(1, 0, 2)
        rows = xp.ascontiguousarray(met[now].transpose(1, 0, 2)).reshape(number, count * batch)
        result += xp.dot(rows, flat.reshape(gates * units, count * batch).T)
    return result


def _weights_infer(d: AVal, tape: AVal, *parts: AVal, order: tuple[int, ...], ones: bool) -> AVal:
    rows = [part.shape[1] for part in parts]
    units = d.shape[2]
    number = None if None in rows else sum(rows) + ones  # type: ignore[arg-type]
    return AVal((number, None if units is None else len(order) * units), np.result_type(d.dtype, tape.dtype))


def _weights_vjp(
    g: Any, needs: list[bool], out: Any, d: Any, tape: Any, *parts: Any, order: tuple[int, ...], ones: bool
) -> list[Any]:
    by_gate = as_inside(g, order)
    pieces = [*parts, OPS.ones_like(parts[0][:, :1])] if ones else [*parts]
    met = concatenate(pieces, axis=1)
    of_met = einsum("ngh,tghb->tnb", by_gate, d) if any(needs[2:]) else None
    return [
        einsum("ngh,tnb->tghb", by_gate, met) if needs[0] else None,
        None,
        *(piece_of(of_met, pieces, i, axis=1) if need else None for i, need in enumerate(needs[2:])),
    ]


# The gradients of weights from those of the gates' arguments, d (steps, gates, units, batch), stacked as the weights
# are: (rows, gates · units). Operands: d; a tape whose last rows are the parts that the weights met, and with ``ones``
# one of ones, for a bias; then the parts, each (steps, rows, batch), for gradients of gradients. ``order``: of each
# gate in d, its place among the columns of the weights.
gate_weights: Op = register(
    Op(
        "gate_weights",
        _weights_forward,
        _weights_infer,
        _weights_vjp,
        flags={"fills"},
        doc="Σ over steps and batch of v · d, for all that weights met: the gradients of these weights.",
    )
)


def piece_of(whole: Any, parts: Sequence[Any], index: int, axis: int = 0) -> Any:
    """What ``parts[index]`` has in their concatenation, or in its gradient."""
    return _part(whole, *parts, axis=axis, index=index)


def as_inside(W: Any, order: Sequence[int]) -> Any:
    """Weights (rows, gates · units) as (rows, gates, units), gates in the order in which a layer has them inside."""
    by_gate = _group_channels(W, groups=len(order))
    if list(order) == sorted(order):
        return by_gate
    return concatenate([by_gate[:, gate : gate + 1] for gate in order], axis=1)


def through_weights(d: Any, W: Any, order: Sequence[int]) -> Any:
    """The gradients d (steps, gates, units, batch) of the gates' arguments, carried back through the weights W."""
    return einsum("tghb,dgh->tbd", d, as_inside(W, order))


def first_step(part: Any) -> Any:
    """Of (steps, units, batch) the first step as (batch, units), zeros where there is none."""
    return transpose(OPS.sum(part[:1], 0))


def plus(dim: Dim, more: int) -> Dim:
    """A dim with so many more."""
    return None if dim is None else dim + more


attach_to("recurrent")
