"""How a row of the op table is written: helpers to make elementwise ops, shared shape rules, registration by name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, broadcast_shapes, sample
from tutorlib.core.backend import quiet
from tutorlib.core.errors import DTypeError, ShapeError, TutorlibError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS, OpNamespace
from tutorlib.core.quick import unary
from tutorlib.ops import later


class Table(dict[str, Op]):
    """The ops by name. Those of ``later`` load when they are asked for; going through the table loads all."""

    def __missing__(self, name: str) -> Op:
        if name not in later.ROWS:
            raise KeyError(name)
        later.load(later.ROWS[name])
        return super().__getitem__(name) if self.holds(name) else self._absent(name)

    @staticmethod
    def _absent(name: str) -> Op:
        raise KeyError(name)

    def holds(self, name: str) -> bool:
        """Whether the op is there already."""
        return super().__contains__(name)

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        later.load_all()
        return super().__iter__()

    def __len__(self) -> int:
        later.load_all()
        return super().__len__()

    def keys(self) -> Any:
        later.load_all()
        return super().keys()

    def values(self) -> Any:
        later.load_all()
        return super().values()

    def items(self) -> Any:
        later.load_all()
        return super().items()


TABLE = Table()


def _load_first(name: str, modules: Mapping[str, str]) -> None:
    """Load what this package calls so, that a name is taken once and for all."""
    module = modules.get(name)
    if module is not None and not later.is_loaded(module):
        later.load(module)


OpNamespace.load = staticmethod(lambda name: _load_first(name, later.FUNCTIONS))


def register(op: Op) -> Op:
    """Enter an op into the table, by name."""
    _load_first(op.name, later.ROWS)
    if TABLE.holds(op.name):
        raise TutorlibError(f"an op called {op.name!r} exists already")
    TABLE[op.name] = op
    return op


def public(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Make ``function`` reachable as an operator or method of variables, and as ``tl.NAME``.

    It may take the place of the table's op of that name, which it wraps. Raises TutorlibError for a name that another
    function has.
    """
    name = name or function.__name__
    _load_first(name, later.FUNCTIONS)
    there = vars(OPS).get(name)
    if not isinstance(getattr(there, "op", there), Op | None):
        raise TutorlibError(f"another function is called tl.{name} already")
    setattr(OPS, name, function)
    return function


@lru_cache(maxsize=4096)
def _probed(op: Op, avals: tuple[AVal, ...], attrs: tuple[tuple[str, Any], ...]) -> np.dtype[Any]:
    with quiet():
        return np.asarray(op.on_numpy(*map(sample, avals), **dict(attrs))).dtype


def result_dtype(op: Op, avals: Iterable[AVal], **attrs: Any) -> np.dtype[Any]:
    """The dtype ``op`` gives, found by running it once on one-element stand-ins: static mode cannot disagree with
    NumPy."""
    stand_ins = tuple(AVal((1,) * a.ndim, a.dtype, a.weak) for a in avals)
    try:
        return _probed(op, stand_ins, tuple(sorted(attrs.items())))
    except TypeError:
        names = " and ".join(str(a.dtype) for a in stand_ins)
        raise DTypeError(f"not defined for {names}", op=op.name, fix='cast first: x.astype("float64")') from None


def elementwise(
    name: str,
    vjp: Any = None,
    *,
    ufunc: str | None = None,
    forward: Callable[..., Any] | None = None,
    c: str | None = None,
    flags: Iterable[str] = (),
    doc: str = "",
) -> Op:
    """A row for an op that works element by element with broadcasting; its shape rule and dtype rule follow."""
    op = Op(name, forward, None, vjp, c=c, flags={"elementwise", *flags}, ufunc=ufunc, doc=doc)

    @lru_cache(maxsize=1024)
    def plain(*avals: AVal) -> AVal:
        shape = broadcast_shapes([a.shape for a in avals], name)
        return AVal(shape, result_dtype(op, avals), all([a.weak for a in avals]))

    def infer(*avals: AVal, **attrs: Any) -> AVal:
        if not attrs:
            return plain(*avals)
        shape = broadcast_shapes([a.shape for a in avals], name)
        return AVal(shape, result_dtype(op, avals, **attrs), all([a.weak for a in avals]))

    op.infer = infer
    if type(vjp) is tuple and len(vjp) == 1:
        public(unary(op), name)
    else:
        public(op, name)
    return register(op)


def normalized_axes(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """``axis`` (None, int or tuple, negatives allowed) as a sorted tuple of axes from 0. Raises ShapeError."""
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    result = []
    for a in axes:
        if not -ndim <= a < ndim:
            raise ShapeError(
                f"axis {a} does not exist: the operand has {ndim} axes",
                op=op,
                fix=f"use an axis from {-ndim} to {ndim - 1}" if ndim else "a scalar has no axis: leave axis out",
            )
        result.append(int(a) % ndim)
    if len(set(result)) != len(result):
        raise ShapeError(f"axis {axes} names an axis twice", op=op, fix="name each axis once")
    return tuple(sorted(result))


def hashable_axis(axis: Any) -> Any:
    """``axis`` as an attribute: None, int, or tuple of ints. Raises ShapeError for anything else."""
    if axis is None or type(axis) is int:
        return axis
    try:
        return operator.index(axis)
    except TypeError:
        pass
    try:
        return tuple(operator.index(a) for a in axis)
    except TypeError:
        raise ShapeError(
            f"an axis is a whole number, not {axis!r}", fix="write axis=0, or a tuple of numbers: axis=(0, 1)"
        ) from None


def single_axis(axis: Any, ndim: int, op: str) -> int:
    """``axis`` as one axis from 0. Raises ShapeError where it is none, or several."""
    axes = normalized_axes(hashable_axis(axis), ndim, op)
    if len(axes) != 1:
        raise ShapeError(f"one axis is needed, not {axis}", op=op, fix="name one axis: axis=0")
    return axes[0]
