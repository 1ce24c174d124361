"""What a bound call is, and the small constants that bound calls share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# Rows no longer than this may be added without pairing.
SHORT = 1024
Call = Callable[[], Any]
Scratch = Callable[[tuple[int, ...], Any], np.ndarray]


class Bound(NamedTuple):
    """A call, and how it reads in the printed program: operands as {0} {1} …, the result as {out}, scratch as {tmp}.

    ``strict``, where there is one, is what to call instead when a cotangent of zero met an infinity: see
    ``lower_safe``. ``kept``: arrays of its own in which the call leaves what a later one may use.
    """

    call: Call
    text: str
    strict: Call | None = None
    kept: Any = None


# How a call reads where ``strict`` runs in its place.
STRICT = "{out}[...] = {op}"

# A cache line; smaller arrays than a few of them gain nothing by starting at one.
LINE, WORTH_ALIGNING = 64, 1024
# Of memory; an array that would leave much of its last one unused does without.
HUGE_PAGE = 2 << 20


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array that starts at a cache line, if it is not very small: vector instructions are slower across lines.

    A large one starts where a huge page does, and NumPy asks Linux for such pages: looking up a thousand small ones
    takes a fifth of the time of a pass over 4 MB.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < WORTH_ALIGNING:
        return np.empty(shape, dtype)
    start = HUGE_PAGE if size >= HUGE_PAGE and -size % HUGE_PAGE <= size // 8 else LINE
    raw = np.empty(size + start, np.uint8)
    first = -raw.ctypes.data % start
    return raw[first : first + size].view(dtype).reshape(shape)


def aligned(array: Any) -> Any:
    """The array, or if it does not start at a cache line and is not very small, a copy that does."""
    if type(array) is not np.ndarray or array.nbytes < WORTH_ALIGNING or not array.flags.c_contiguous:
        return array
    if not array.ctypes.data % LINE:
        return array
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def owner_of(array: np.ndarray) -> Any:
    """The array whose memory it is."""
    return array if array.base is None else array.base


def direct_call(function: Any) -> Any:
    """A NumPy function without the look-out for array classes other than NumPy's: half its cost on small arrays."""
    return getattr(function, "_implementation", function)


DOT, COPYTO = direct_call(np.dot), direct_call(np.copyto)
CLIP: Any = getattr(getattr(getattr(np, "_core", np), "umath", np), "clip", None)
# Ufuncs that take their buffer by keyword only.
BY_KEYWORD = frozenset({np.maximum, np.minimum})
BITS: dict[int, np.dtype[Any]] = {2: np.dtype("int16"), 4: np.dtype("int32"), 8: np.dtype("int64")}


def number_as_array(value: Any, like: Any) -> Any:
    """A Python number as a 0-d array of the dtype it takes beside ``like``: a ufunc call with one costs half."""
    if type(value) in (int, float) and isinstance(like, np.ndarray) and like.dtype.kind == "f":
        return constant(value, like.dtype)
    return value


def constant(value: Any, dtype: Any) -> np.ndarray:
    # By its text: 0.0 and -0.0 are equal, and 1 and True are.
    return constant_of(repr(value), dtype)


@lru_cache(maxsize=1024)
def constant_of(text: str, dtype: Any) -> np.ndarray:
    array = np.asarray(float(text), dtype)
    array.flags.writeable = False
    return array


@lru_cache(maxsize=64)
def whole(value: int, dtype: Any) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array


@lru_cache(maxsize=64)
def ones_of(n: int, dtype: Any) -> np.ndarray:
    array = np.ones(n, dtype)
    array.flags.writeable = False
    return array


def thin(value: Any) -> Any:
    """An array that repeats one element as that element: a stretched number is a number."""
    if isinstance(value, np.ndarray) and 0 in value.strides and value.size > 1 and not any(value.strides):
        return value[(0,) * value.ndim + (Ellipsis,)]
    return value


def can_be_cut(value: Any) -> bool:
    """Whether tiles of an operand are views of it."""
    value = thin(value)
    return not isinstance(value, np.ndarray) or value.size == 1 or value.flags.c_contiguous


def looks_into(view: np.ndarray, array: np.ndarray) -> bool:
    return not view.size or np.may_share_memory(view, array)


def alike(array: Any, like: np.ndarray) -> bool:
    return type(array) is np.ndarray and array.shape == like.shape and array.dtype == like.dtype
