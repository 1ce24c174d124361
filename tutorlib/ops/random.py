"""Random draws as pure functions of (key, counter): equal arguments give equal numbers, anywhere, in every mode.

What is drawn without parameters is an op (rows in ``random_ops``, the generator in ``philox``); locations and scales
are applied by ordinary arithmetic, so that gradients reach them. The one thing with state is ``Stream``, whose counter
moves. This module is ``tl.random``.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tutorlib.core.aval import check_dtype
from tutorlib.core.create import as_array, tensor
from tutorlib.core.dispatch import state
from tutorlib.core.errors import DTypeError, ShapeError, TutorlibError
from tutorlib.core.graph import Op, Shared, Symbol, aval_of
from tutorlib.core.storage import Storage
from tutorlib.core.tensor import Tensor
from tutorlib.ops import random_ops as rows
from tutorlib.ops.define import normalized_axes
from tutorlib.ops.index import getitem, take
from tutorlib.ops.logic import lt
from tutorlib.ops.random_arguments import as_values, dims_of, float_dtype, place_of
from tutorlib.ops.reduce import count
from tutorlib.ops.shape import reshape

__all__ = [
    "Stream",
    "bernoulli",
    "bits",
    "categorical",
    "choice",
    "exponential",
    "key",
    "multinomial",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
]

# ---- keys and arguments ----


def key(seed: int) -> Tensor:
    """A key: what a sequence of random numbers starts from. Different seeds give unrelated numbers.

    Args:
        seed: a whole number from 0 to 2**64 - 1.

    >>> import tutorlib as tl
    >>> tl.random.uniform(tl.random.key(1), (2,)).numpy() == tl.random.uniform(1, (2,)).numpy()
    array([ True,  True])
    """
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise TutorlibError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed!r}", fix="use for example 0")
    return tensor(np.asarray(int(seed), np.uint64), dtype="uint64")


def split(key: Any, n: int = 2) -> Any:
    """``n`` new keys (a vector of uint64) that give numbers unrelated to each other's and to those of ``key``.

    >>> import tutorlib as tl
    >>> first, second = tl.random.split(0)
    >>> first.item() == second.item()
    False
    """
    return rows.random_keys(_checked_key(key), n=int(n))


def _checked_key(value: Any) -> Any:
    if isinstance(value, int | np.integer):
        return key(int(value))
    if not hasattr(value, "dtype") or value.dtype.kind not in "iu" or value.ndim:
        raise DTypeError(
            f"a key is a whole number or what tl.random.key and tl.random.split give, not {value!r:.60}",
            op="random",
            fix="pass a seed such as 0, or tl.random.key(0)",
        )
    return value


def _drawn(op: Op, key: Any, counter: Any, shape: Any, like: Any, dtype: Any, parameters: tuple[Any, ...]) -> Any:
    dims, operand = place_of(shape, like, parameters)
    name = float_dtype(dtype, *parameters, *([] if like is None else [like]))
    return op(_checked_key(key), counter, *operand, shape=dims, dtype=name)


def _is(value: Any, number: float) -> bool:
    return type(value) in (int, float) and value == number


# ---- distributions ----


def bits(key: Any, shape: Any = (), *, counter: Any = 0, like: Any = None) -> Any:
    """Random 32-bit words, as uint32: the raw output of the generator."""
    dims, operand = place_of(shape, like, ())
    return rows.random_bits(_checked_key(key), counter, *operand, shape=dims, dtype="uint32")


def uniform(
    key: Any,
    shape: Any = None,
    low: Any = 0.0,
    high: Any = 1.0,
    *,
    dtype: Any = None,
    counter: Any = 0,
    like: Any = None,
) -> Any:
    """Uniform random numbers in [low, high).

    The same key, counter, shape and dtype always give the same numbers; another counter gives fresh ones.

    Args:
        key: a seed, or a key from ``key`` or ``split``.
        shape: what to draw; by default the shape of the parameters.
        low, high: numbers, arrays or variables; gradients reach them.
        dtype: by default the parameters', or ``tl.config.floatX``.
        counter: a whole number, or a scalar variable such as a shared one that counts up.
        like: draw in the shape (and floating-point dtype) of this variable; it may have unknown dims.

    >>> import tutorlib as tl
    >>> tl.random.uniform(0, (2,), low=5.0, high=6.0).shape
    (2,)
    """
    low, high = as_values(low, high)
    u = _drawn(rows.random_uniform, key, counter, shape, like, dtype, (low, high))
    return u if _is(low, 0) and _is(high, 1) else low + u * (high - low)


def normal(
    key: Any,
    shape: Any = None,
    mean: Any = 0.0,
    std: Any = 1.0,
    *,
    dtype: Any = None,
    counter: Any = 0,
    like: Any = None,
) -> Any:
    """Normal random numbers, ``mean + std · z``; gradients reach mean and std. Arguments: see ``uniform``."""
    mean, std = as_values(mean, std)
    z = _drawn(rows.random_normal, key, counter, shape, like, dtype, (mean, std))
    return z if _is(mean, 0) and _is(std, 1) else mean + std * z


def exponential(
    key: Any, shape: Any = None, scale: Any = 1.0, *, dtype: Any = None, counter: Any = 0, like: Any = None
) -> Any:
    """Exponential random numbers with mean ``scale``; gradients reach it. Arguments: see ``uniform``."""
    (scale,) = as_values(scale)
    e = _drawn(rows.random_exponential, key, counter, shape, like, dtype, (scale,))
    return e if _is(scale, 1) else e * scale


def bernoulli(key: Any, shape: Any = None, p: Any = 0.5, *, counter: Any = 0, like: Any = None) -> Any:
    """True with probability ``p``, else False. Arguments: see ``uniform``."""
    (p,) = as_values(p)
    return lt(_drawn(rows.random_uniform, key, counter, shape, like, "float64", (p,)), p)


def randint(
    key: Any,
    shape: Any = None,
    low: Any = 0,
    high: Any = 2,
    *,
    dtype: Any = "int64",
    counter: Any = 0,
    like: Any = None,
) -> Any:
    """Random whole numbers from low up to and without high. ``low`` and ``high``: ints, or integer arrays or variables.

    >>> import tutorlib as tl
    >>> bool((tl.random.randint(0, (100,), 1, 7).numpy() < 7).all())
    True
    """
    low, high = as_values(low, high)
    if any(aval_of(v).dtype.kind not in "iu" for v in (low, high)) or check_dtype(dtype).kind not in "iu":
        raise DTypeError("the limits and the dtype must be of whole numbers", op="randint", fix="use ints")
    dims, operand = place_of(shape, like, (low, high))
    return rows.random_integers(
        _checked_key(key), counter, low, high, *operand, shape=dims, dtype=check_dtype(dtype).name
    )


def categorical(key: Any, p: Any, shape: Any = (), *, counter: Any = 0) -> Any:
    """Random categories 0 … n - 1: ``p`` (…, n) are their weights (they need not sum to one).

    Returns int64 of shape ``shape`` followed by the leading axes of p. For logits pass ``tl.softmax(logits)``.
    """
    (p,) = as_values(p)
    _check_p(p, "categorical")
    return rows.random_categorical(_checked_key(key), counter, p, shape=dims_of(shape))


def multinomial(key: Any, n: int, p: Any, shape: Any = (), *, counter: Any = 0) -> Any:
    """How often each of the categories came in ``n`` draws with weights ``p`` (…, categories).

    Returns int64 of shape ``shape`` followed by that of p; its last axis sums to n.
    """
    (p,) = as_values(p)
    _check_p(p, "multinomial")
    return rows.random_multinomial(_checked_key(key), counter, p, n=int(n), shape=dims_of(shape))


def _check_p(p: Any, op: str) -> None:
    aval = aval_of(p)
    if not aval.ndim or aval.shape[-1] == 0:
        raise ShapeError(
            "there is no category to draw",
            op=op,
            shapes=[aval.shape],
            fix="give one weight a category on the last axis",
        )


def permutation(key: Any, x: Any, axis: int = 0, *, counter: Any = 0) -> Any:
    """x with its elements along ``axis`` in a random order, each order equally likely; for an int: of 0 … x - 1.

    >>> import tutorlib as tl
    >>> sorted(tl.random.permutation(0, 4).tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, int | np.integer):
        return rows.random_permutation(_checked_key(key), counter, n=int(x), axis=0)
    (x,) = as_values(x)
    (place,) = normalized_axes(axis, x.ndim, "permutation")
    return take(x, _order(_checked_key(key), counter, x, place), axis=place)


def _order(key: Any, counter: Any, x: Any, axis: int) -> Any:
    known = x.shape[axis]
    return rows.random_permutation(key, counter, *([x] if known is None else []), n=known, axis=axis)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, *, counter: Any = 0) -> Any:
    """Random elements of a (along its first axis), or of 0 … a - 1 for an int.

    Args:
        shape: how many; the result has this shape followed by the rest of a's.
        replace: whether an element may come more than once.
        p: a weight for each element; by default all alike.

    >>> import tutorlib as tl
    >>> len(set(tl.random.choice(0, 5, (5,), replace=False).tolist()))
    5
    """
    dims = dims_of(shape)
    a, p = as_values(a, p)
    whole = isinstance(a, int | np.integer)
    n = int(a) if whole else a.shape[0]
    if n is not None and prod(dims) > (0 if n == 0 else n if not replace else prod(dims)):
        raise ShapeError(
            f"{prod(dims)} elements cannot be chosen from {n}", op="choice", fix="choose fewer, or with replace=True"
        )
    checked = _checked_key(key)
    if replace:
        limit = count(a, 0, "int64") if n is None else max(n, 1)
        picked = (
            randint(checked, dims, 0, limit, counter=counter)
            if p is None
            else categorical(checked, p, dims, counter=counter)
        )
    else:
        if p is not None:
            _check_p(p, "choice")
            order = rows.random_weighted_order(checked, counter, p)
        else:
            order = permutation(checked, n, counter=counter) if n is not None else _order(checked, counter, a, 0)
        picked = reshape(getitem(order, slice(0, prod(dims))), dims)
    return picked if whole else take(a, picked, axis=0)


# ---- a sequence of draws ----


class Stream:
    """Random numbers one draw after the other: each draw takes the next counter.

    Outside a static graph every call of a method draws anew. In a static graph a draw is a symbol, and every *call of
    the compiled function* draws anew: the counter is a shared variable that brings its own update along. A function
    that contains k draws moves it by k, so both modes give the same sequence.

    Args:
        seed: a seed or a key.
        static: True: every draw is a symbol. By default one is where the arguments are symbols or inside
            ``tl.static()``.
        device: where the counter (and, with a key there, the numbers) live.

    Attributes: ``key``; ``counter``, the shared variable: ``stream.counter.set_value(0)`` starts the sequence again.
    Methods: ``bits uniform normal exponential bernoulli randint categorical multinomial permutation choice``, each the
    function of that name without its first argument.

    >>> import tutorlib as tl
    >>> stream = tl.random.Stream(0)
    >>> first, second = stream.normal((2,)), stream.normal((2,))
    >>> stream.counter.set_value(0)
    >>> bool((stream.normal((2,)).numpy() == first.numpy()).all())
    True
    >>> draw = tl.function([], tl.random.Stream(0, static=True).normal((2,)))
    >>> bool((draw() == first.numpy()).all() and (draw() == second.numpy()).all())
    True
    """

    def __init__(self, seed: Any = 0, *, static: bool = False, device: Any = None) -> None:
        self.key = _checked_key(seed)
        self.static = static
        start = as_array(0, "int64", device)
        self.counter = Shared(Storage(start, "counter"), (), "counter")
        # Where the symbolic draws of the present body stand: the counter before the first, how many, the counter after.
        self._start: Any = self.counter
        self._draws = 0
        self._after: Any = None
        self._body: Any = None

    def take(self, *arguments: Any) -> Any:
        """The counter of the next draw, as a symbol if the draw will be one: what all methods call."""
        if self.static or state.static or any(isinstance(a, Symbol) for a in arguments):
            after = self.counter.default_update
            if after is not self._after or state.body is not self._body:
                # The first draw, or the first in or behind a loop, which has a counter of its own.
                self._start, self._draws, self._body = (self.counter if after is None else after), 0, state.body
            mine = self._start + self._draws if self._draws else self._start
            self._draws += 1
            self._after = self.counter.default_update = self._start + self._draws
            return mine
        now = self.counter.storage.value
        after = now + 1
        self.counter.storage.write(np.asarray(after) if isinstance(now, np.ndarray) else after, by="in-place")
        return Tensor(now)

    def __repr__(self) -> str:
        return f"<random stream at {int(self.counter.get_value())}>"

    def __getattr__(self, name: str) -> Any:
        if name not in _DRAWS:
            raise AttributeError(f"a stream has no {name!r}")
        function = globals()[name]

        def draw(*args: Any, **kwargs: Any) -> Any:
            return function(self.key, *args, counter=self.take(*args, *kwargs.values()), **kwargs)

        draw.__name__, draw.__doc__ = name, function.__doc__
        return draw

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_DRAWS})


_DRAWS = frozenset(__all__) - {"Stream", "key", "split"}
