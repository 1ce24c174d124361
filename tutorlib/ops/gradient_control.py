"""Ops that give back what they are given, and change what happens around it: the way of the gradient, or a print."""

from __future__ import annotations

from typing import Any

from tutorlib.core.aval import AVal
from tutorlib.core.backend import to_host
from tutorlib.core.graph import Op
from tutorlib.ops.define import public, register
from tutorlib.ops.elementwise import clip


def _same(x: AVal, **attrs: Any) -> AVal:
    return AVal(x.shape, x.dtype)


def _passing(name: str, vjp: Any, flags: Any = ("linear",), doc: str = "") -> Op:
    # A view, never the very array: a result handed out must not be the caller's own.
    return register(Op(name, lambda xp, x, **attrs: xp.asarray(x)[...], _same, vjp, flags={"view", *flags}, doc=doc))


_identity = _passing("identity", (lambda g, out, x: g,))
_stop_gradient = _passing("stop_gradient", None, {"nondiff"})
_grad_scale = _passing("grad_scale", (lambda g, out, x, scale: g * scale,))
_grad_clip = _passing("grad_clip", (lambda g, out, x, low, high: clip(g, low, high),), ())


@public
def identity(x: Any) -> Any:
    """x itself, as a node of its own: a place to name or to watch.

    >>> import tutorlib as tl
    >>> tl.identity(tl.tensor([1, 2]))
    tensor([1, 2])
    """
    return _identity(x)


@public
def stop_gradient(x: Any) -> Any:
    """x, through which no gradient flows: what lies behind counts as a constant. The same in both modes.

    >>> import tutorlib as tl
    >>> x = tl.tensor(3.0, requires_grad=True)
    >>> (x * tl.stop_gradient(x)).backward(); x.grad.item()
    3.0
    """
    return _stop_gradient(x)


@public
def grad_scale(x: Any, scale: float) -> Any:
    """x, whose gradient is multiplied by the number ``scale`` on its way back; -1 turns it round.

    >>> import tutorlib as tl
    >>> x = tl.tensor(3.0, requires_grad=True)
    >>> tl.grad_scale(x, -1.0).backward(); x.grad.item()
    -1.0
    """
    return _grad_scale(x, scale=float(scale))


@public
def grad_clip(x: Any, low: float, high: float) -> Any:
    """x, whose gradient is limited, element by element, to the numbers low … high on its way back.

    >>> import tutorlib as tl
    >>> x = tl.tensor(3.0, requires_grad=True)
    >>> (tl.grad_clip(x, -1.0, 1.0) * 5.0).backward(); x.grad.item()
    1.0
    """
    return _grad_clip(x, low=float(low), high=float(high))


def _print_forward(xp: Any, x: Any, message: str) -> Any:
    x = xp.asarray(x)
    print(f"{message}: {to_host(x)}" if message else str(to_host(x)))
    return x[...]


_print: Op = register(
    Op(
        "print",
        _print_forward,
        _same,
        (lambda g, out, x, message: g,),
        flags={"linear", "view", "effect"},
        doc="x, printed whenever it is computed.",
    )
)


@public
def print_(x: Any, message: str = "") -> Any:
    """x, printed whenever it is computed: in dynamic mode at once, in static mode at each call of a function that needs
    the result (a ``print_`` whose result is not used never runs). Gradients pass unchanged.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> f = tl.function([x], tl.print_(x * 2, "twice x") + 1)
    >>> f(3.0)
    twice x: 6.0
    array(7.)
    """
    return _print(x, message=str(message))
