"""``tl.function``: a graph compiled into something to call."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tutorlib.compile.arguments import (
    In,
    Pairs,
    accepted,
    checked_givens,
    checked_inputs,
    checked_updates,
    default_updates,
    missing_inputs,
    update_value,
)
from tutorlib.compile.evaluate import result_form
from tutorlib.compile.executor import Plan
from tutorlib.compile.fgraph import clone
from tutorlib.compile.pipeline import compiled
from tutorlib.compile.schedules import Schedules
from tutorlib.core import observe
from tutorlib.core.backend import CPU, common_device, device, put, to_host
from tutorlib.core.collecting import collector_at_rest
from tutorlib.core.debugprint import debugprint
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import (
    MissingInputError,
    TutorlibError,
    UnusedInputError,
)
from tutorlib.core.graph import Input, Node, Shared, Symbol, label
from tutorlib.core.source import mark, resolve
from tutorlib.core.toposort import leaves_of, toposort

if TYPE_CHECKING:
    from tutorlib.compile.source import Lifetimes, Source


class Function:
    """A compiled function. Call it with one value an input, by position or by keyword.

    Attributes: ``inputs`` (the symbols), ``outputs`` (after givens), ``updates`` as pairs (shared variable,
    expression), ``log`` (the rewrites that led to what runs), ``name``. Updates are simultaneous and are written
    after all outputs are computed; if anything fails, none is written.
    """

    def __init__(
        self,
        inputs: list[In],
        outputs: list[Symbol],
        updates: list[tuple[Shared, Symbol]],
        shape_of_result: Any,
        on_unused_input: str,
        mode: str | None,
        name: str | None,
        nodes: list[Node] | None = None,
    ) -> None:
        """``nodes``: those of outputs and updates in topological order, where they are known."""
        self.name = name
        self.inputs = [i.variable for i in inputs]
        self.outputs = outputs
        self.updates = updates
        self._in = inputs
        self._form = shape_of_result
        self._mode = mode
        roots = [*outputs, *(new for _, new in updates)]
        nodes = toposort(roots) if nodes is None else nodes
        self._check_unused(roots, nodes, on_unused_input)
        # A result given as an input is a leaf here, whatever computes it elsewhere.
        leaves = [v if v.node is None else Input(v.aval, name=v.name) for v in self.inputs]
        if any(leaf is not v for leaf, v in zip(leaves, self.inputs, strict=True)):
            roots = clone(roots, dict(zip(self.inputs, leaves, strict=True)))
            nodes = toposort(roots)
        known = set(map(id, leaves))
        missing = [v for v in leaves_of(roots, nodes) if isinstance(v, Input) and id(v) not in known]
        if missing:
            raise missing_inputs(missing, nodes)
        roots, nodes, regions, self.log = compiled(roots, len(updates), mode, nodes)
        self._plan = Plan(leaves, roots, nodes)
        self.device = common_device(
            [s.storage.value for s in {id(s): s for s in [*self._plan.shared, *(s for s, _ in updates)]}.values()],
            "function",
        )
        if not self._plan.shared and not updates:
            self.device = device()
        self._plan.move_constants(self.device)
        ends = [(s, new) for (s, _), new in zip(updates, roots[len(outputs) :], strict=True)]
        # Of each input: dtype, number of axes, and the shape where any of it is known (then all of it must be).
        self._wanted = [(v.dtype, v.ndim, v.shape if any(d is not None for d in v.shape) else None) for v in leaves]
        self._program = (self._plan.nodes, leaves, roots[: len(outputs)], ends)
        self._written = [s.storage for s, _ in updates]
        self._fast = None
        if mode != "plain":
            self._fast = Schedules(self._plan, *self._program[1:], regions, self.log, in_c=mode == "c")

    def _check_unused(self, roots: list[Symbol], nodes: list[Node], policy: str) -> None:
        if policy == "ignore" or not self.inputs:
            return
        used = {id(v) for v in roots} | {id(v) for node in nodes for v in node.inputs}
        for var in self.inputs:
            if id(var) in used:
                continue
            says = f"input {label(var)} is not used by any output or update"
            fix = 'leave it out, or pass on_unused_input="ignore"'
            if policy == "warn":
                line = resolve(mark())
                place = (line.filename, line.line) if line is not None else ("tutorlib", 1)
                warnings.warn_explicit(f"{says}; {fix}", UserWarning, *place)
            else:
                raise UnusedInputError(says, fix=fix)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._fast is not None and self._fast.quick is not None and not kwargs and not observe.observers:
            found = self._fast.quick(args)
            if found is not None:
                for storage in self._written:
                    storage.overwritten(self)
                return self._form(found)
        arrays = list(args) if not kwargs and self._fit_as_they_are(args) else self._bind(args, kwargs)
        if observe.observers:
            observe.tell("before_call", self, arrays)
        watched = bool(observe.observers) and observe.watching_values()
        outputs = self._fast.run(arrays) if self._fast is not None and not watched else None
        if outputs is not None:
            for variable, _ in self.updates:
                variable.storage.overwritten(by=self)
        else:
            outputs = self._run_plainly(arrays)
        if observe.observers:
            observe.tell("on_call", self, arrays, outputs)
        return self._form(outputs)

    def _run_plainly(self, arrays: list[Any]) -> list[np.ndarray]:
        self.log.rest()
        results = self._plan.run(arrays)
        count = len(self.outputs)
        # A result may be the very array that an input, a constant, a shared variable or an earlier result holds: hand
        # out copies of those.
        held = list(arrays)
        outputs, fresh = [], []
        for result in results[:count]:
            outputs.append(self._plan.owned(to_host(result), held))
            held.append(outputs[-1])
        for (shared, _), result in zip(self.updates, results[count:], strict=True):
            fresh.append(update_value(shared, self._plan.owned(result, held)))
            held.append(fresh[-1])
        for (variable, _), value in zip(self.updates, fresh, strict=True):
            variable.storage.write(value, by=self)
        return outputs

    def _fit_as_they_are(self, args: tuple[Any, ...]) -> bool:
        """Whether the arguments are arrays that need no check beyond this one."""
        if len(args) != len(self._wanted) or self.device != CPU:
            return False
        for array, (dtype, ndim, shape) in zip(args, self._wanted, strict=True):
            if type(array) is not np.ndarray or array.dtype != dtype or array.ndim != ndim:
                return False
            if shape is not None and array.shape != shape:
                return False
        return True

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = [i.name or i.variable.name for i in self._in]
        listed = ", ".join(map(str, names)) or "none"
        if len(args) > len(self._in):
            raise MissingInputError(
                f"{self._words()} takes {len(self._in)} inputs ({listed}), {len(args)} were given",
                fix="pass one value an input",
            )
        values: list[Any] = [*args, *[None] * (len(self._in) - len(args))]
        given = [True] * len(args) + [False] * (len(self._in) - len(args))
        for key, value in kwargs.items():
            if key not in names:
                raise MissingInputError(
                    f"{self._words()} has no input called {key!r}",
                    fix=f"its inputs are {', '.join(map(str, names)) or 'none'}",
                )
            place = names.index(key)
            if given[place]:
                raise MissingInputError(
                    f"input {key!r} was given twice", fix="pass it by position or by keyword, not both"
                )
            values[place], given[place] = value, True
        result = []
        for i, (known, value) in enumerate(zip(given, values, strict=True)):
            if not known:
                if self._in[i].value is None:
                    raise MissingInputError(
                        f"{self._words()} needs a value for input {label(self.inputs[i])}",
                        fix=f"call it with {', '.join(map(str, names))}",
                    )
                value = self._in[i].value
                value = value.get_value() if isinstance(value, Shared) else value
            result.append(put(accepted(self.inputs[i], value), self.device))
        return result

    def _words(self) -> str:
        return f"function {self.name}" if self.name else "this function"

    @property
    def source(self) -> Source:
        """What it runs as the text of a NumPy program, for the shapes of the latest call; see ``Source``.

        >>> import tutorlib as tl
        >>> x = tl.vector("x")
        >>> f = tl.function([x], tl.exp(x) * 2)
        >>> f([0.0, 1.0]).round(2)
        array([2.  , 5.44])
        >>> print(f.source)                       # doctest: +ELLIPSIS
        \"""this function, planned for x: float64 (2,)\"""
        import numpy as np
        from tutorlib.compile.source import op
        <BLANKLINE>
        b0 = np.empty((2,), 'float64')
        <BLANKLINE>
        <BLANKLINE>
        def run(x):
            np.exp(x, out=b0)... # exp, ...
            np.multiply(b0, 2, out=b0)... # mul, ...
            results = [np.array(b0)]
            return results
        <BLANKLINE>
        """
        from tutorlib.compile.source import source_of_plan, source_of_schedule

        self.log.rest()
        schedule = self._fast.latest() if self._fast is not None else None
        if schedule is not None:
            shapes = ", ".join(f"{label(v)}: {v.dtype.name} {schedule.array[id(v)].shape}" for v in schedule.inputs)
            return source_of_schedule(schedule, f"{self._words()}, planned{f' for {shapes}' if shapes else ''}")
        return source_of_plan(*self._program, f"{self._words()}, without a plan of its memory")

    @property
    def c_source(self) -> str:
        """With ``mode="c"``: the C program that was compiled for the shapes of the latest call, each op named; else "".

        >>> import tutorlib as tl
        >>> x = tl.vector("x")
        >>> f = tl.function([x], tl.exp(x) * 2, mode="c")
        >>> f([0.0, 1.0]).round(2)
        array([2.  , 5.44])
        >>> "tl_exp_double(" in f.c_source or not f.c_source      # there may be no compiler here
        True
        """
        schedule = self._fast.latest() if self._fast is not None else None
        return schedule.c_text() if schedule is not None else ""

    @property
    def schedule(self) -> Lifetimes:
        """Which buffer holds which value from which step to which, for the shapes of the latest call: see
        ``Lifetimes``."""
        from tutorlib.compile.source import Lifetimes

        return Lifetimes(self._fast.latest() if self._fast is not None else None)

    def copy(self, swap: Mapping[Any, Any] | None = None, *, updates: bool = True, name: str | None = None) -> Function:
        """The same function on other shared variables, or without its updates.

        Args:
            swap: pairs old → new of shared variables (or parameters) of the same dtype and shape; those left out are
                shared between both functions.
            updates: False leaves the updates out: a function that only reads.
            name: of the copy.

        Raises TutorlibError for a variable that the function does not use.

        >>> import tutorlib as tl
        >>> a, b = tl.shared(1.0, name="a"), tl.shared(10.0, name="b")
        >>> f = tl.function([], a, updates=[(a, a + 1.0)])
        >>> g = f.copy({a: b}); g(), b.get_value(), a.get_value()
        (array(10.), array(11.), array(1.))
        """
        replace = checked_givens(swap or {})
        for old, new in replace.items():
            if not isinstance(old, Shared) or not isinstance(new, Shared):
                raise TutorlibError("copy() swaps shared variables for shared variables", fix="use givens for others")
            if not any(old is s for s in [*self._plan.shared, *(s for s, _ in self.updates)]):
                raise TutorlibError(f"the function does not use {label(old)}", fix="leave it out of swap")
        kept = self.updates if updates else []
        roots = clone([*self.outputs, *(new for _, new in kept)], replace)
        pairs = [
            (cast(Shared, replace.get(s, s)), new) for (s, _), new in zip(kept, roots[len(self.outputs) :], strict=True)
        ]
        return Function(
            self._in, roots[: len(self.outputs)], pairs, self._form, "ignore", self._mode, name or self.name
        )

    def profile(self, *args: Any, repeat: int = 5, **kwargs: Any) -> Any:
        """Where a call with these arguments spends its time and memory, node by node: see ``tl.profile``."""
        return Symbol.profiled(self, *args, repeat=repeat, **kwargs)

    def debugprint(self) -> str:
        """The graphs of its outputs and updates as text."""
        return debugprint(self)

    def __repr__(self) -> str:
        inputs = ", ".join(label(v) for v in self.inputs)
        updates = "".join(
            f", {label(s)} ← {label(v) if v.name else v.node.op.name if v.node else label(v)}" for s, v in self.updates
        )
        outputs = ", ".join(v.name or (v.node.op.name if v.node else label(v)) for v in self.outputs)
        return f"<function {self.name or ''}({inputs}) → {outputs or 'nothing'}{updates}>".replace(
            "function (", "function("
        )


def function(
    inputs: Sequence[Any] = (),
    outputs: Any = None,
    updates: Pairs = (),
    givens: Pairs = (),
    on_unused_input: str = "raise",
    mode: str | None = None,
    name: str | None = None,
) -> Function:
    """Compile a graph into something to call.

    Args:
        inputs: symbols, or ``tl.In(symbol, value=default, name=keyword)``.
        outputs: an expression, a list, tuple or dict of them, or None: the call's result has the same form, as NumPy
            arrays.
        updates: pairs (or a dict) of a shared variable and its new value. All new values are computed from the
            values before the call, and so are the outputs; then all are written.
        givens: pairs (or a dict) of a variable of the graph and what stands in its place, in this function only.
        on_unused_input: "raise", "warn" or "ignore".
        mode: None rewrites the graph first (``tl.rules()`` lists how), "plain" runs it as written, "check" rewrites it
            and compares both sides of every step on random inputs, "c" rewrites it and compiles what C computes faster
            (where there is a compiler; the values are the same).
        name: for messages.

    Raises MissingInputError, UnusedInputError, UpdateTypeError, ShapeError, DTypeError.

    >>> import tutorlib as tl
    >>> x = tl.vector("x")
    >>> total = tl.shared(0.0, name="total")
    >>> add_up = tl.function([x], x.sum(), updates=[(total, total + x.sum())])
    >>> add_up([1.0, 2.0])
    array(3.)
    >>> total.get_value()
    array(3.)
    """
    if on_unused_input not in ("raise", "warn", "ignore"):
        raise TutorlibError(f"on_unused_input is not {on_unused_input!r}", fix='write "raise", "warn" or "ignore"')
    if mode not in (None, "plain", "check", "c"):
        raise TutorlibError(f"no mode is called {mode!r}", fix='leave it out, or write "plain", "check" or "c"')
    if mode == "c":
        from tutorlib.compile.c_segments import ready_for_c

        mode = "c" if ready_for_c() else None
    with collector_at_rest():
        return _function(checked_inputs(inputs), outputs, updates, givens, on_unused_input, mode, name)


def _function(
    inputs: list[In],
    outputs: Any,
    updates: Pairs,
    givens: Pairs,
    on_unused_input: str,
    mode: str | None,
    name: str | None,
) -> Function:
    flat, form = result_form(outputs)
    symbols = [as_symbol(o) for o in flat]
    checked = checked_updates(updates)
    roots = [*symbols, *(new for _, new in checked)]
    nodes: list[Node] | None = toposort(roots)
    brought = default_updates(leaves_of(roots, nodes), checked)
    checked += brought
    roots += [new for _, new in brought]
    replace = checked_givens(givens)
    if replace:
        roots = clone(roots, replace)
    if replace or brought:
        nodes = None  # others now
    news = roots[len(symbols) :]
    return Function(
        inputs,
        roots[: len(symbols)],
        [(s, new) for (s, _), new in zip(checked, news, strict=True)],
        form,
        on_unused_input,
        mode,
        name,
        nodes,
    )
