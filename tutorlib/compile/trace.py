"""``tl.trace``: a Python function run once on symbols, and from then on as the graph that this run has built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np

from tutorlib.compile.function import Function, function
from tutorlib.compile.read_around import ReadAround
from tutorlib.compile.traced_body import tracing
from tutorlib.compile.tree import Form, flatten
from tutorlib.compile.watching import Decision, counting_lines, decisions, described, fingerprint
from tutorlib.core.aval import AVal, Dim
from tutorlib.core.backend import is_array
from tutorlib.core.dispatch import as_symbol, state, static
from tutorlib.core.errors import ModeMixError, ShapeError, TutorlibError, shape_text
from tutorlib.core.graph import Constant, Input, Shared, Symbol, Var
from tutorlib.core.operators import OPS
from tutorlib.core.parameter import Parameter
from tutorlib.core.tensor import Tensor


@dataclass
class Trace:
    """One run of the function on symbols.

    ``number`` from 1; ``why`` it was made; ``depends_on``: name → words, all that a later call is compared with;
    ``inputs``: the symbols; ``graph``: the result, of the function's own structure, as symbols; ``baked``: name →
    words for every Python value that is now a constant; ``branches`` and ``prints``: what was decided or printed once;
    ``function``: what runs.
    """

    number: int
    why: str
    depends_on: dict[str, str]
    inputs: list[Input]
    graph: Any
    baked: dict[str, str]
    branches: list[Decision]
    prints: list[Decision]
    function: Function = field(repr=False)
    build: Callable[[list[Any]], Any] = field(repr=False)


class TraceReport:
    """What ``report()`` gives: ``traces``, and as text why each was made and what it froze."""

    def __init__(self, name: str, traces: list[Trace]) -> None:
        self.name = name
        self.traces = traces

    def __repr__(self) -> str:
        count = len(self.traces)
        lines = [f"{self.name}: {count} trace{'' if count == 1 else 's'}"]
        for trace in self.traces:
            lines.append(f"trace {trace.number}: {trace.why}")
            lines += [f"  input      {v.name}: {v.dtype} {shape_text(v.shape)}" for v in trace.inputs]
            lines += [f"  baked in   {name} = {words}" for name, words in trace.baked.items()]
            lines += [f"  decided    {decision}" for decision in trace.branches]
            lines += [f"  print      {decision}" for decision in trace.prints]
        lines.append("not watched: properties, attributes of objects in containers, what functions of libraries read")
        return "\n".join(lines)


class TracedFunction:
    """A function made by ``tl.trace``. Call it as the original.

    Attributes: ``traces`` (list of Trace), ``graph`` (the result of the latest trace as symbols), ``inputs`` (its
    symbols): ``tl.grad(f.graph, f.inputs[0])`` is the gradient as a graph. ``report()`` says what was baked in.
    """

    def __init__(self, fn: Callable[..., Any], shapes: Mapping[str, Sequence[Dim]]) -> None:
        self.fn = fn
        self.traces: list[Trace] = []
        self._shapes = dict(shapes)
        self._signature = inspect.signature(fn)
        self._known: dict[Any, Trace] = {}
        self._keys: list[dict[str, Any]] = []
        self._alive: list[Any] = []
        self._changes_itself: set[str] = set()
        self._reads: dict[Any, ReadAround] = {}
        unknown = [name for name in self._shapes if name not in self._signature.parameters]
        if unknown:
            raise TutorlibError(
                f"the function has no argument {unknown[0]!r}",
                op="trace",
                fix=f"name one of {', '.join(self._signature.parameters)}",
            )
        update_wrapper(self, fn)

    @property
    def graph(self) -> Any:
        """The result of the latest trace, as symbols."""
        return self._latest().graph

    @property
    def inputs(self) -> list[Input]:
        """The input symbols of the latest trace."""
        return self._latest().inputs

    def report(self) -> TraceReport:
        """How many traces there are and why, and what each of them froze."""
        return TraceReport(getattr(self, "__name__", "function"), list(self.traces))

    def _latest(self) -> Trace:
        if not self.traces:
            raise TutorlibError("nothing is traced yet", op="trace", fix="call the function once")
        return self.traces[-1]

    def __repr__(self) -> str:
        return f"<traced function {getattr(self, '__name__', '')}, {len(self.traces)} traces>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves, form = flatten(dict(bound.arguments))
        if any(isinstance(v, Symbol) and not isinstance(v, Shared) for v in leaves):
            with static():
                return self.fn(*args, **kwargs)
        paths = [_path(p) for p in form.paths("")]
        parts: dict[str, Any] = {"the structure of the arguments": form}
        for path, leaf in zip(paths, leaves, strict=True):
            parts[path] = self._spec(path, leaf)
        reads = self._reads_of(bound.arguments)
        seen_now = {name: (value, fingerprint(value)) for name, value in reads.values(bound.arguments).items()}
        watched = {n: seen for n, (_, seen) in seen_now.items() if seen is not None and n not in self._changes_itself}
        around = {name: seen_now[name][0] for name in watched}
        parts |= {_outside(name): seen for name, seen in watched.items()}
        key = tuple(parts.items())
        trace = self._known.get(key)
        if trace is None:
            trace = self._traced(leaves, form, paths, parts, around)
            # What the function itself changes while it is traced (a list it appends to) says nothing of the next call.
            after = reads.values(bound.arguments)
            for name, seen in watched.items():
                if name not in after or fingerprint(after[name]) != seen:
                    self._changes_itself.add(name)
                    del parts[_outside(name)], trace.depends_on[_outside(name)]
                    trace.baked[_outside(name)] += ", which the function itself changes; no call of the graph does"
            key = tuple(parts.items())
            self._known[key] = trace
            # Objects are told apart by identity, which means something only as long as they live.
            self._alive.append((leaves, list(around.values())))
            self._keys.append(parts)
            self.traces.append(trace)
        arrays = [v for v in leaves if _is_data(v)]
        return trace.build(list(trace.function(*arrays)))

    def _reads_of(self, arguments: Mapping[str, Any]) -> ReadAround:
        """What the function reads from around it, given objects of these kinds."""
        kinds = tuple(type(v) for v in arguments.values() if not _is_data(v))
        found = self._reads.get(kinds)
        if found is None:
            found = self._reads[kinds] = ReadAround(self.fn, arguments)
        return found

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """As a method: the object is the first argument, told apart by identity, its plain attributes by value."""
        return self if owner is None else MethodType(self, owner)

    def _spec(self, path: str, leaf: Any) -> Any:
        """What the graph depends on of one argument."""
        if _is_data(leaf):
            if isinstance(leaf, Tensor) and leaf.requires_grad and state.recording:
                raise ModeMixError(
                    f"{path} requires a gradient, and a traced function computes values only",
                    op="trace",
                    fix="take the gradient inside: tl.trace(lambda x: tl.grad(loss(x), x)); or pass x.detach()",
                )
            return self._aval(path, leaf)
        seen = fingerprint(leaf)
        return seen if seen is not None else (type(leaf).__name__, id(leaf))

    def _aval(self, path: str, leaf: Any) -> AVal:
        shape = self._shapes.get(path)
        if shape is None:
            return AVal(tuple(leaf.shape), leaf.dtype)
        if len(shape) != len(leaf.shape) or any(w not in (None, n) for w, n in zip(shape, leaf.shape, strict=True)):
            raise ShapeError(
                f"{path} does not have the shape that the trace was asked to take",
                op="trace",
                shapes=[shape, leaf.shape],
                fix="write None in shapes= for every length that may vary",
            )
        return AVal(tuple(shape), leaf.dtype)

    def _traced(
        self,
        leaves: list[Any],
        form: Form,
        paths: list[str],
        parts: dict[str, Any],
        around: dict[str, Any],
    ) -> Trace:
        inputs = [Input(parts[p], name=p) for p, leaf in zip(paths, leaves, strict=True) if _is_data(leaf)]
        symbols = iter(inputs)
        given = form.build([next(symbols) if _is_data(leaf) else leaf for leaf in leaves])
        call = inspect.BoundArguments(self._signature, given)
        with tracing() as traced:
            with counting_lines(self.fn) as hits:
                result = self.fn(*call.args, **call.kwargs)
            found, result_form = flatten(result)
            values = [as_symbol(v, "trace") if isinstance(v, Var) else v for v in found]
            outputs = [v for v in values if isinstance(v, Symbol)]
            name = getattr(self.fn, "__name__", None)
            compiled = function(inputs, outputs, on_unused_input="ignore", name=name)
        # A later trace starts its random streams where this one did.
        traced.restore()
        baked = {p: described(leaf) for p, leaf in zip(paths, leaves, strict=True) if not _is_data(leaf)}
        baked |= {_outside(name): described(value) for name, value in around.items()}
        baked |= _constants(traced.nodes)
        results = result_form.paths("result")
        baked |= {p: described(v) for p, v in zip(results, values, strict=True) if not isinstance(v, Symbol)}
        branches, prints = decisions(self.fn, hits)

        def build(arrays: list[Any]) -> Any:
            rest = iter(arrays)
            return result_form.build([next(rest) if isinstance(v, Symbol) else v for v in values])

        return Trace(
            len(self.traces) + 1,
            self._why(parts),
            {name: _words(part) for name, part in parts.items()},
            inputs,
            result_form.build(values),
            baked,
            branches,
            prints,
            compiled,
            build,
        )

    def _why(self, parts: dict[str, Any]) -> str:
        if not self._keys:
            return "the first call"
        changes = [
            [
                _change(name, old.get(name), parts.get(name))
                for name in {**old, **parts}
                if old.get(name) != parts.get(name)
            ]
            for old in self._keys
        ]
        nearest = min(range(len(changes)), key=lambda i: len(changes[i]))
        return f"{'; '.join(changes[nearest])} (compared with trace {nearest + 1})"


def _is_data(value: Any) -> bool:
    """Whether an argument's value may differ from call to call without a new trace."""
    return is_array(value) or (isinstance(value, Tensor) and not isinstance(value, Parameter))


def _outside(name: str) -> str:
    return f"{name} (from around it)"


def _path(path: str) -> str:
    """``['x'][0]`` as ``x[0]``."""
    name, _, rest = path[2:].partition("'")
    return f"{name}{rest[1:]}"


def _change(name: str, before: Any, after: Any) -> str:
    old, new = _words(before), _words(after)
    return f"{name}: other contents than before" if old == new else f"{name}: {old} → {new}"


def _words(part: Any) -> str:
    if part is None:
        return "nothing"
    if isinstance(part, AVal):
        return f"{part.dtype} {shape_text(part.shape)}"
    if isinstance(part, tuple) and part and part[0] == "array":
        return f"array {shape_text(part[1])} of {np.dtype(part[2])}"
    return str(part[1]) if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str) else repr(part)


def _constants(nodes: list[Any]) -> dict[str, str]:
    """The arrays that became constants of the graph, by the line that used them first."""
    found: dict[int, tuple[Constant, Any]] = {}
    for node in nodes:
        for v in node.inputs:
            if isinstance(v, Constant) and not v.aval.weak:
                found.setdefault(id(v), (v, node))
    return {
        f"{v.name or 'an array'} used at {node.source.where}": described(v.value)
        for v, node in found.values()
        if node.role == "forward" and node.source is not None
    }


def trace(
    fn: Any = None, *diagonal: int, shapes: Mapping[str, Sequence[Dim]] | None = None, **which_diagonal: int
) -> Any:
    """A function that runs as a static graph: ``fn`` is called once on symbols, and the graph it builds is compiled.

    Args:
        fn: a Python function of arrays or tensors (then data: only their shape and dtype matter) and of other Python
            values (then part of the graph: another value makes another trace). It may give any nested tuple, list or
            dict. Left out, ``trace`` is a decorator with options. A matrix instead of a function gives the matrix's
            trace, the sum along its diagonal (with NumPy's arguments ``offset, axis1, axis2``).
        shapes: argument name → shape with None for each length that may vary without a new trace.

    Returns a ``TracedFunction``: it gives NumPy arrays, and has ``graph``, ``inputs``, ``traces`` and ``report()``.
    Python's own ``if``, ``for`` and ``print`` run while tracing only; ``if`` on a symbol raises ModeMixError. A new
    trace is made when an argument's shape, dtype or Python value is new, or a number or array that the function reads
    from around it has changed.

    >>> import tutorlib as tl
    >>> import numpy as np
    >>> @tl.trace
    ... def energy(x, n):
    ...     return (x ** n).sum()
    >>> energy(np.array([1.0, 2.0]), 2), energy(np.array([3.0, 4.0]), 2), energy(np.array([1.0, 2.0]), 3)
    (array(5.), array(25.), array(9.))
    >>> [trace.why for trace in energy.traces]
    ['the first call', 'n: 2 → 3 (compared with trace 1)']
    """
    if fn is None:
        return lambda function: TracedFunction(function, shapes or {})
    if not callable(fn):
        return OPS.trace(fn, *diagonal, **which_diagonal)
    return TracedFunction(fn, shapes or {})
