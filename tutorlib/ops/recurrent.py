"""What recurrent layers share: their shapes, and the way from the gradients of gates back to weights and inputs.

Here gradients d of gates' arguments are (gates, units, steps, batch): the gradient of a weight is then one matrix
product over all steps and examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import DTypeError, NotDifferentiableError, ShapeError
from tutorlib.core.graph import Op, aval_of
from tutorlib.core.operators import OPS
from tutorlib.ops.convert import cast
from tutorlib.ops.define import register
from tutorlib.ops.einsum import einsum
from tutorlib.ops.normalize import _group_channels
from tutorlib.ops.shape import reshape_like, shape_of, transpose


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


def _gate_weights_forward(xp: Any, d: Any, v: Any) -> Any:
    gates, units, steps, batch = d.shape
    rows = v.reshape(steps * batch, v.shape[2])
    return xp.matmul(d.reshape(gates * units, steps * batch), rows).T


def _gate_weights_infer(d: AVal, v: AVal) -> AVal:
    gates, units = d.shape[:2]
    return AVal(
        (v.shape[2], None if gates is None or units is None else gates * units), np.result_type(d.dtype, v.dtype)
    )


def _gate_weights_vjp(gg: Any, needs: list[bool], out: Any, d: Any, v: Any) -> list[Any]:
    by_gate = _group_channels(gg, groups=shape_of(d)[0])
    return [
        einsum("kgh,tbk->ghtb", by_gate, v) if needs[0] else None,
        einsum("kgh,ghtb->tbk", by_gate, d) if needs[1] else None,
    ]


gate_weights: Op = register(
    Op(
        "gate_weights",
        _gate_weights_forward,
        _gate_weights_infer,
        _gate_weights_vjp,
        doc="Σ over steps and batch of v · d: the gradient of the weights that v met.",
    )
)


def through_weights(d: Any, W: Any) -> Any:
    """The gradients d (gates, units, steps, batch) of the gates' arguments, carried back through the weights W."""
    return einsum("ghtb,dgh->tbd", d, _group_channels(W, groups=shape_of(d)[0]))


def bias_gradient(d: Any, b: Any) -> Any:
    """The gradient of a bias of the gates' arguments."""
    return reshape_like(OPS.sum(d, (2, 3)), b)


def first_step(part: Any) -> Any:
    """Of (units, steps, batch) the first step as (batch, units), zeros where there is none."""
    return transpose(OPS.sum(part[:, :1], 1))


def plus(dim: Dim, more: int) -> Dim:
    """A dim with so many more."""
    return None if dim is None else dim + more
