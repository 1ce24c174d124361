"""The gradient rules of the commonest ops once more, for NumPy arrays alone: where ``Tensor.backward`` spends its time.

Each says what the op's own rule says (a test holds them to each other), with temporaries written over and without
guarding zeros against infinities: see ``core.array_walk``. A rule gets the cotangent and the node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tutorlib.core.array_walk import PASS, check
from tutorlib.core.quick import constant
from tutorlib.ops import later
from tutorlib.ops.define import TABLE, normalized_axes
from tutorlib.ops.index import fill_index, repeats_possible
from tutorlib.ops.shape import inverse
from tutorlib.ops.sums import sum_of_rows

_ndarray = np.ndarray
_add, _subtract, _multiply, _divide, _negative = np.add, np.subtract, np.multiply, np.true_divide, np.negative
_ceil, _empty = np.ceil, np.empty
# NumPy's own clip: a quarter of the time of the function, and of minimum.
_clip: Any = getattr(getattr(getattr(np, "_core", np), "umath", np), "clip", np.clip)

# NumPy takes twice as long with a Python number as with an array without axes.
_FLOAT32 = np.dtype("float32")
_ONE = np.ones((), _FLOAT32)
_FROM_0_TO_1 = np.zeros((), _FLOAT32), _ONE
_SMALL = 1 << 16


def _general(number: int) -> Any:
    """The op's own rule for an input: of rows where only one input is worth a rule of its own."""
    return lambda g, node: node.op.vjp[number](g, node._data, *node.arrays, **node.attrs)


def _minus(g: Any, node: Any) -> Any:
    return _negative(g, node.mark.spare)


def _product_x(g: Any, node: Any) -> Any:
    return _multiply(g, node.right_array, node.mark.spare)


def _product_y(g: Any, node: Any) -> Any:
    return _multiply(g, node.left_array, node.mark.spare)


def _quotient_x(g: Any, node: Any) -> Any:
    return _divide(g, node.right_array, node.mark.spare)


def _quotient_y(g: Any, node: Any) -> Any:
    t = _multiply(g, node._data, node.mark.spare)
    if type(t) is not _ndarray:
        return -(t / node.right_array)
    t = _divide(t, node.right_array, t if t.dtype == node._data.dtype else None)
    return _negative(t, t)


def _exp(g: Any, node: Any) -> Any:
    return _multiply(g, node._data, node.mark.spare)


def _log(g: Any, node: Any) -> Any:
    return _divide(g, node.left_array, node.mark.spare)


def _tanh(g: Any, node: Any) -> Any:
    out = node._data
    t = _multiply(out, out)
    if type(t) is not _ndarray:
        return g * (1 - t)
    _subtract(_ONE if t.dtype is _FLOAT32 else 1, t, t)
    return _multiply(g, t, t)


def _sigmoid(g: Any, node: Any) -> Any:
    out = node._data
    t = _subtract(_ONE if out.dtype is _FLOAT32 else 1, out)
    if type(t) is not _ndarray:
        return g * (out * t)
    _multiply(out, t, t)
    return _multiply(g, t, t)


def _relu(g: Any, node: Any) -> Any:
    # 1 for what is above 0: a mask of booleans would have to be turned into numbers.
    out = node._data
    t = _clip(out, *_FROM_0_TO_1) if out.dtype is _FLOAT32 else np.minimum(out, 1)
    if type(t) is not _ndarray:
        return g * np.ceil(t)
    _ceil(t, t)
    return _multiply(g, t, t)


def _square(g: Any, node: Any) -> Any:
    x = node.left_array
    t = _add(x, x)
    return _multiply(g, t, t) if type(t) is _ndarray else g * t


def _power_x(g: Any, node: Any) -> Any:
    x, p = node.left_array, node.right_array
    if type(p) in (int, float) and p == 2:
        return _multiply(g, _add(x, x))
    return node.op.vjp[0](g, node._data, x, p)


def _stretched(g: Any, like: Any, axis: Any, keepdims: bool) -> Any:
    """A cotangent of a reduction, in the shape of what was reduced."""
    if not keepdims and axis is not None:
        g = np.expand_dims(g, normalized_axes(axis, like.ndim, "reduce"))
    if like.size > _SMALL:
        return np.broadcast_to(g, like.shape)
    full = _empty(like.shape, like.dtype)
    if axis is None:
        full.fill(g)
    else:
        full[...] = g
    return full


def _sum(g: Any, node: Any) -> Any:
    x, attrs = node.left_array, node.attrs
    if attrs["axis"] is None and x.size <= _SMALL:
        full = _empty(x.shape, x.dtype)
        full.fill(g)
        return full
    return _stretched(g, x, **attrs)


def _mean(g: Any, node: Any) -> Any:
    x, out = node.left_array, node._data
    if node.attrs["axis"] is None and 0 < x.size <= _SMALL and x.dtype.itemsize >= 4:
        full = _empty(x.shape, x.dtype)
        full.fill(float(g) / x.size)  # rounded to the dtype as a division in it would be
        return full
    if x.dtype.itemsize < 4 or not out.size:
        return node.op.vjp[0](g, out, x, **node.attrs).astype(x.dtype)
    return _stretched(_divide(g, constant(x.size // out.size, x.dtype)), x, **node.attrs)


def _matmul_x(g: Any, node: Any) -> Any:
    x, y = node.left_array, node.right_array
    return g.dot(y.T) if x.ndim == y.ndim == 2 else node.op.vjp[0](g, node._data, x, y)


def _matmul_y(g: Any, node: Any) -> Any:
    x, y = node.left_array, node.right_array
    return x.T.dot(g) if x.ndim == y.ndim == 2 else node.op.vjp[1](g, node._data, x, y)


def _linear_x(g: Any, node: Any) -> Any:
    return g.dot(node.left_array[1].T) if g.ndim == 2 else _general(0)(g, node)


def _linear_weights(g: Any, node: Any) -> Any:
    return node.left_array[0].T.dot(g) if g.ndim == 2 else _general(1)(g, node)


def _linear_bias(g: Any, node: Any) -> Any:
    return sum_of_rows(g) if g.ndim == 2 else g  # the walk adds up what has more axes, as for any bias


def _reshaped(g: Any, node: Any) -> Any:
    return g.reshape(node.left_array.shape)


def _transposed(g: Any, node: Any) -> Any:
    return g.transpose(inverse(node.attrs["axes"]))


def _conv_x(g: Any, node: Any) -> Any:
    x, w = node.left_array, node.right_array
    return TABLE["conv_transpose"].on_numpy(g, w, x, output_padding=None, **node.attrs)


def _conv_weights(g: Any, node: Any) -> Any:
    return TABLE["conv_weight"].on_numpy(node.left_array, g, node.right_array, **node.attrs)


def _max_pool(g: Any, node: Any) -> Any:
    check(g)  # from here on a NaN may be dropped, and so not be found at a leaf
    return TABLE["max_pool_spread"].on_numpy(g, node.left_array, node._data, **node.attrs)


def _pour_getitem(g: Any, node: Any, total: Any, untouched: bool) -> None:
    index = node.attrs["index"]
    if node.right is None:
        if untouched:
            total[index] = g
            return
        part = total[index]
        if type(part) is _ndarray:
            _add(part, g, part)
        else:
            total[index] += g
        return
    arrays = node.arrays[1:]
    if repeats_possible(index, arrays):
        np.add.at(total, fill_index(index, arrays), g)
    else:
        total[fill_index(index, arrays) if arrays else index] += g


_RULES: dict[str, tuple[Any, ...]] = {
    "add": (PASS, PASS),
    "getitem": (),
    "sub": (PASS, _minus),
    "mul": (_product_x, _product_y),
    "div": (_quotient_x, _quotient_y),
    "neg": (_minus,),
    "square": (_square,),
    "pow": (_power_x, _general(1)),
    "exp": (_exp,),
    "log": (_log,),
    "tanh": (_tanh,),
    "sigmoid": (_sigmoid,),
    "relu": (_relu,),
    "sum": (_sum,),
    "mean": (_mean,),
    "matmul": (_matmul_x, _matmul_y),
    "reshape": (_reshaped,),
    "expand_dims": (_reshaped,),
    "squeeze": (_reshaped,),
    "transpose": (_transposed,),
    "conv": (_conv_x, _conv_weights),
    "max_pool": (_max_pool,),
    "linear": (_linear_x, _linear_weights, _linear_bias),
}


_GUARDLESS = frozenset({"add", "sub", "neg", "sum", "matmul", "linear", "getitem", "conv"})


def attach(names: Iterable[str]) -> None:
    """Give these rules to ops of this package, and of nobody else, that are in the table now."""
    for name in names:
        op = TABLE[name] if TABLE.holds(name) else None
        if op is None:
            continue
        op.pulls_blindly = True
        if name in _RULES:
            op.on_arrays = _RULES[name]
        op.guards_nothing = name in _GUARDLESS
        if name == "getitem":
            op.pour = _pour_getitem
        elif name == "mul":
            op.to_both = _square


def attach_to(module: str) -> None:
    """Give these rules to the ops of a module that loads later."""
    attach(later.rows_of(module))
