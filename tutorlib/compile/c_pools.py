"""Max pooling and its gradient as C text: one pass over the windows, each of whose elements is at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from tutorlib.compile.c_loops import C_TYPES, FLOATS, Job, collapsed, in_memory
from tutorlib.ops.windows import pads, pieces, reach

POOLS = frozenset({"max_pool", "max_pool_spread"})
# Elements of a window that are written out one by one.
_LARGEST = 16


def is_pool(job: Job) -> bool:
    """Whether the op is max pooling, or spreads cotangents over windows that have no element in common, without
    padding."""
    if job.node.op.name not in POOLS:
        return False
    arrays, attrs = [a for _, a in job.operands], job.node.attrs
    kernel, stride, dilation = (attrs[k] for k in ("kernel", "stride", "dilation"))
    x = arrays[0] if job.node.op.name == "max_pool" else arrays[1]
    if not all(isinstance(a, np.ndarray) and a.dtype == job.out.dtype for a in arrays) or prod(kernel) > _LARGEST:
        return False
    if job.out.dtype not in FLOATS or any(np.may_share_memory(job.out, a) for a in arrays):
        return False
    if any(map(any, pads(x.shape[2:], kernel, stride, attrs["padding"], dilation))):
        return False
    apart = all(s >= reach(k, d) for s, k, d in zip(stride, kernel, dilation, strict=True))
    return job.node.op.name == "max_pool" or apart


def pool_text(job: Job, slot: Callable[[int, np.ndarray], int]) -> Iterator[str]:
    """The op line by line."""
    t = C_TYPES[job.out.dtype]
    spreads = job.node.op.name == "max_pool_spread"
    arrays = dict(zip("gxm" if spreads else "x", job.operands, strict=True))
    arrays["z"] = (job.key, job.out)
    windows = arrays["m"][1] if spreads else job.out
    attrs = job.node.attrs
    geometry = (attrs["kernel"], windows.shape[2:], attrs["stride"], attrs["dilation"])
    # Each place of the kernel sees the images from another element on, with the shape of the windows.
    images = ("x", "z") if spreads else ("x",)
    places = {name: [*pieces(array, *geometry)] if name in images else [array] for name, (_, array) in arrays.items()}
    order = in_memory(windows)
    turned = [views[0].transpose(order) for views in places.values()]
    sizes, steps = collapsed(turned[0].shape, turned)
    at = {
        name: " + ".join(f"i{k} * {step[number]}" for k, step in enumerate(steps)) or "0"
        for number, name in enumerate(places)
    }

    def element(name: str, place: int = 0) -> str:
        offset = _address(places[name][place]) - _address(places[name][0])
        return f"{name}[{at[name]} + {offset // job.out.itemsize}]"

    yield "{"
    for name, (key, array) in arrays.items():
        yield f"{t} *{name} = a[{slot(key, array)}];"
    count = len(places["x"])
    if spreads and count * windows.size != job.out.size:
        whole, strides = collapsed(job.out.transpose(in_memory(job.out)).shape, [job.out.transpose(in_memory(job.out))])
        yield from (f"for (long i{k} = 0; i{k} < {n}; i{k}++)" for k, n in enumerate(whole))
        yield f"z[{' + '.join(f'i{k} * {s[0]}' for k, s in enumerate(strides)) or '0'}] = 0;"
    for k, n in enumerate(sizes):
        if k == len(sizes) - 1:
            yield "#pragma omp simd"
        yield f"for (long i{k} = 0; i{k} < {n}; i{k}++) {{"
    for e in range(count):
        yield f"const {t} x{e} = {element('x', e)};"
    if spreads:
        yield f"const {t} most = {element('m')};"
        yield f"const {t} number = {' + '.join(f'({t})(x{e} == most)' for e in range(count))};"
        yield f"const {t} share = {element('g')} / (number > 1 ? number : 1);"
        yield from (f"{element('z', e)} = x{e} == most ? share : 0;" for e in range(count))
    else:
        yield f"const {t} m0 = x0;"
        # Of NaN and a number NaN is the larger, as in NumPy.
        yield from (f"const {t} m{e} = x{e} >= m{e - 1} || x{e} != x{e} ? x{e} : m{e - 1};" for e in range(1, count))
        yield f"{element('z')} = m{count - 1};"
    yield "}" * len(sizes)
    yield "}"


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
