"""The fast way to run a graph on the host: bound calls into buffers planned once for one set of shapes.

Every value has a buffer for good; two values share one when their lives do not overlap; an elementwise result takes the
place of an operand that nobody needs any more; reshapes, transposes and slices are views and cost nothing. Updates are
written into the shared variables' own arrays, by the last ops themselves where nothing else wants the old value. When
another array comes in, the few calls that read it are bound again. How single ops become calls is in ``lower``; which
values share a buffer is in ``buffers``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compile.adding import added_at_once
from tutorlib.compile.bound import Bound, can_be_cut, empty, looks_into
from tutorlib.compile.buffers import SHAPE_ONLY, VIEWS, Buffers, Like, Lives, direct_updates, is_view
from tutorlib.compile.joins import places_in_joins
from tutorlib.compile.left_over import LeftOver
from tutorlib.compile.lower import several, whole_text
from tutorlib.compile.poison import speculation
from tutorlib.compile.regions import Region
from tutorlib.compile.running import Running, Step
from tutorlib.compile.scalars import Numbers, numbers_last, runs_of_numbers
from tutorlib.compile.side_by_side import joined_updates, lay_side_by_side
from tutorlib.compile.tiles import Tiles, passes_of
from tutorlib.core.graph import Constant, Node, Shared, Symbol

if TYPE_CHECKING:
    from tutorlib.compile.c_scan import CompiledScan
    from tutorlib.compile.c_segments import Segments

# An input of so many bytes is read where it is; a smaller one is copied, which costs less than binding calls again.
COPY_BYTES = 65_536
# A value of so few elements that is the same at every call is computed once.
FORESEEN = 4096
_OF_SHAPES = frozenset({"count", "zeros_like", "ones_like"})


class Schedule(Running):
    """A plan for one set of shapes.

    Attributes: ``steps``; ``buffers``, their sizes and lives; ``inputs``, ``outputs``, ``updates`` as variables;
    ``direct``, by id of variable: the shared variable whose array an update is computed into; ``array``, by id of
    variable: where its value is; ``checked``, in which NaN is looked for
    (see ``poison``); ``known``, ids of variables whose value is computed once, here; ``before``, nodes that were
    computed before each call, whose values are among the inputs (see ``late``); ``bindings``, how often it was bound;
    ``protecting``, whether the latest call met 0 · ∞ and so ran with protection.
    """

    before: Sequence[Node] = ()

    def __init__(
        self,
        nodes: Sequence[Node],
        inputs: Sequence[Symbol],
        outputs: Sequence[Symbol],
        updates: Sequence[tuple[Shared, Symbol]],
        likes: Mapping[int, Like],
        regions: Sequence[Region] = (),
        in_c: bool = False,
        whole: bool = False,
    ) -> None:
        """``likes``: by id of variable, the shape and dtype of its value. ``regions``: what may run as one pass.
        ``in_c``: compile what C computes faster; ``whole``: if that is everything, else nothing."""
        self.inputs, self.outputs, self.updates = list(inputs), list(outputs), list(updates)
        direct = direct_updates(nodes, outputs, updates, likes)
        self._moved: dict[int, Shared] = {}
        ends = [*outputs, *(new for _, new in updates)]
        nodes, direct = added_at_once(nodes, direct, likes, ends, products_only=in_c)
        if not in_c:
            nodes = numbers_last(nodes, likes, direct)
            if (joined := joined_updates(nodes, direct, likes, ends)) is not None:
                nodes, direct, likes = joined.nodes, joined.direct, joined.likes
                for variables in joined.moved:
                    lay_side_by_side(variables)
                self._moved = {id(s): s for variables in joined.moved for s in variables}
        first, groups = passes_of(nodes, regions, likes, direct)
        nodes = first + [n for n in nodes if id(n) in direct]
        self.direct = {id(n.outputs[0]): s for n in nodes if (s := direct.get(id(n))) is not None}
        self.direct |= {id(new): s for s, new in updates if id(s) in self._moved}
        self.array: dict[int, Any] = {}
        self.known: set[int] = set()
        self.steps: list[Step | Tiles] = []
        self._scratch: dict[tuple[int, str], np.ndarray] = {}
        self._lent_scratch: np.ndarray | None = None
        self._left_over = LeftOver(nodes, in_c)
        self._in_c, self._whole = in_c, whole
        self.scans: dict[int, CompiledScan | None] = {}  # by id of node
        self._place_leaves(nodes, likes)
        self._strict, checked, self.finite_factors = speculation(nodes, outputs, updates, self.direct)
        places = places_in_joins(nodes, likes, direct, VIEWS)
        self.buffers = Buffers(Lives(nodes, [*outputs, *(new for _, new in updates)], places), places)
        self._likes = likes
        position = 0
        while position < len(nodes):
            group = groups.get(position) if not in_c else None
            if group is None:
                self._add(nodes[position], position, likes)
                position += 1
                continue
            if not self._add_tiled(group, position):
                for i, node in enumerate(group):
                    self._add(node, position + i, likes)
            position += len(group)
        self._find_ends()
        self.checked = [v for v in checked if isinstance(self._operand(v), np.ndarray)]
        self.segments = self._compiled() if in_c else None
        self._numbers = {} if in_c else self._as_python()
        self._flatten()

    def _compiled(self) -> Segments:
        steps = [step for step in self.steps if isinstance(step, Step)]
        kept = {id(v) for v in (*self.outputs, *(new for _, new in self.updates))}
        moves = self._can_be_copied_in_c()
        alone = not self._own and (not self._moves or bool(moves))
        from tutorlib.compile.c_segments import Segments  # loads the compiler's parts

        checked = {id(v) for v in self.checked}
        found = Segments(steps, self._operand, self.direct, kept, checked, alone, moves, self._whole)
        found.bind(self.array)
        return found

    def _can_be_copied_in_c(self) -> list[tuple[Symbol, Shared]]:
        """The new values and the variables that get them as copies, if C may do that after everything else: no result
        or other new value may look into these variables' arrays."""
        targets = [s.storage.value for s, _ in self._moves]
        seen = [*self.output_arrays, *(value for _, value in self._moves)]
        arrays = [*targets, *seen]
        if self._own:  # lent variables get new arrays, which C does not make
            return []
        if not all(isinstance(a, np.ndarray) and a.flags.c_contiguous for a in arrays):
            return []
        if any(np.may_share_memory(a, b) for a in targets for b in seen):
            return []
        moved = {id(s) for s, _ in self._moves}
        return [(new, s) for s, new in self.updates if id(s) in moved]

    def _as_python(self) -> dict[int, Numbers]:
        """Arithmetic on single numbers, by the position of its first step."""
        lives, found = self.buffers.lives, {}
        for first, after in runs_of_numbers(self.steps, self._likes, self.direct):
            steps = self.steps[first:after]
            end = lives.first[id(steps[-1].node.outputs[0])]  # type: ignore[union-attr]
            found[first] = Numbers(steps, self._likes, lambda v, end=end: lives.last[id(v)] > end)  # type: ignore[misc]
        return found

    # ---- making it ----

    def _place_leaves(self, nodes: Sequence[Node], likes: Mapping[int, Like]) -> None:
        updated = {id(s) for s, _ in self.updates}
        self._copied_inputs, self._bound_inputs, self._others = [], [], {}
        for i, var in enumerate(self.inputs):
            buffer = self.array[id(var)] = empty(*likes[id(var)])
            if buffer.nbytes < COPY_BYTES:
                self._copied_inputs.append((i, buffer))
            else:
                self._bound_inputs.append((i, var))
        found = {id(v): v for node in nodes for v in node.inputs if isinstance(v, Shared)}
        found |= {id(v): v for v in (*self.outputs, *(new for _, new in self.updates)) if isinstance(v, Shared)}
        found |= {id(s): s for s, _ in self.updates}
        self.shared = list(found.values())
        # A lent array must keep its value, so what is updated works in an array of the schedule's own.
        self._own, self._bound_shared = [], []
        for variable in self.shared:
            value = variable.storage.value
            if id(variable) in updated and variable.storage.lent:
                self.array[id(variable)] = own = np.empty_like(value, order="C")
                self._own.append((variable, own))
            else:
                self.array[id(variable)] = value
                if id(variable) not in self._moved:
                    self._bound_shared.append((id(variable), variable.storage, id(variable) in updated))

    def _operand(self, var: Symbol) -> Any:
        known = self.array.get(id(var))
        if known is None and isinstance(var, Constant):
            known = self.array[id(var)] = var.value
        return known

    def scratch(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array whose content lasts for one node only."""
        size = int(np.prod(shape))
        key = (size, np.dtype(dtype).str)
        found = self._scratch.get(key)
        if found is None:
            found = self._scratch[key] = empty((size,), dtype)
        self._lent_scratch = found.reshape(shape)
        return self._lent_scratch

    def scratch_arrays(self) -> list[np.ndarray]:
        return list(self._scratch.values())

    def _operands(self, node: Node) -> list[Any]:
        """The arrays a node reads; of one that only its shape is taken from, any of that shape."""
        of_shape = SHAPE_ONLY.get(node.op.name)
        if of_shape is None:
            array, found = self.array, []
            for v in node.inputs:
                known = array.get(id(v))
                found.append(known if known is not None else self._operand(v))
            return found
        return [self.shaped(v) if i == of_shape else self._operand(v) for i, v in enumerate(node.inputs)]

    def shaped(self, var: Symbol) -> Any:
        """Its array, or where it has none as a whole, one of the same shape."""
        known = self._operand(var)
        return (
            known
            if known is not None
            else np.broadcast_to(np.empty((), self._likes[id(var)][1]), self._likes[id(var)][0])
        )

    def _view(self, node: Node) -> np.ndarray | None:
        """The result of a node as a view of its operand's array, if it is one."""
        if not is_view(node):
            return None
        operands = self._operands(node)
        if not isinstance(operands[0], np.ndarray):
            return None
        view = node.op.on_numpy(*operands, **node.attrs)
        if (
            isinstance(view, np.ndarray)
            and (view is operands[0] or view.base is not None)
            and looks_into(view, operands[0])
        ):
            return view
        return None

    def _add(self, node: Node, position: int, likes: Mapping[int, Like]) -> None:
        view = self._view(node) if node.op.name in VIEWS else None
        if view is not None:
            self.array[id(node.outputs[0])] = view
            self.buffers.enter_view(node)
            self.steps.append(Step(node, []))
            if id(node.inputs[0]) in self.known or isinstance(node.inputs[0], Constant):
                self.known.add(id(node.outputs[0]))
            return
        if self._foresee(node, likes):
            return
        operands = self._operands(node)
        outs, direct = [], self.direct
        for var in node.outputs:
            key = id(var)
            if key in direct:
                out = self._operand(direct[key])
            else:
                out = self.buffers.take(node, var, operands, likes[key], position)
            self.array[key] = out
            outs.append(out)
        step = Step(node, outs)
        self._bind(step, operands)
        self.steps.append(step)
        self.buffers.let_go(node, position)

    def _add_tiled(self, run: list[Node], position: int) -> bool:
        """Add a run of elementwise nodes to be computed tile by tile; False where its operands do not allow that."""
        if any(id(v) not in self._likes and self._operand(v) is None for node in run for v in node.inputs):
            return False
        if not all(can_be_cut(a) for n in run for v in n.inputs if (a := self._operand(v)) is not None):
            return False
        tiles = Tiles(run, self._operand, self._likes, self.buffers, position)
        self.array.update({id(var): array for var, array in tiles.results})
        tiles.bind(self._strict)
        self.steps.append(tiles)
        for node in run:
            self.buffers.let_go(node, position + len(run) - 1)
        return True

    def _foresee(self, node: Node, likes: Mapping[int, Like]) -> bool:
        """Compute now what is the same at every call: what depends on constants, and on shapes, only."""
        if node.op.name not in _OF_SHAPES:
            for v in node.inputs:
                if type(v) is not Constant and id(v) not in self.known:
                    return False
        if node.op.nout > 1 or math.prod(likes[id(node.outputs[0])][0]) > FORESEEN:
            return False
        value = node.op.on_numpy(*self._operands(node), **node.attrs)
        self.array[id(node.outputs[0])] = np.array(value)
        self.known.add(id(node.outputs[0]))
        return True

    def _scan(self, node: Node, operands: Sequence[Any]) -> CompiledScan | None:
        """A scan in C; None where it cannot be."""
        if id(node) not in self.scans:
            from tutorlib.compile.c_scan import compiled_scan  # loads the compiler's parts

            def plan(
                nodes: list[Node], inputs: list[Symbol], outputs: list[Symbol], likes: dict[int, Like]
            ) -> Schedule:
                return Schedule(nodes, inputs, outputs, [], likes, in_c=True, whole=True)

            self.scans[id(node)] = compiled_scan(node, operands, plan)
        return self.scans[id(node)]

    def c_text(self) -> str:
        """The C program, and those of the steps of scans; empty where nothing is compiled."""
        parts = [self.segments.text()] if self.segments is not None else []
        return "\n".join(part for part in (*parts, *(scan.text for scan in self.scans.values() if scan)) if part)

    def _bind(self, step: Step, operands: Sequence[Any] | None = None) -> None:
        node = step.node
        operands = operands if operands is not None else self._operands(node)
        self._lent_scratch = None
        if self._in_c and node.op.name == "scan" and (scan := self._scan(node, operands)) is not None:
            step.calls = [Bound(partial(scan.run, operands, step.outs), whole_text(step.node))]
        elif node.op.nout == 1:
            step.calls = self._left_over.calls(node, operands, step.outs[0], self.scratch)
        else:
            step.calls = several(node, operands, step.outs)
        step.tmp = self._lent_scratch
