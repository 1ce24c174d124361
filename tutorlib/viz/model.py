"""A graph of either mode as plain nodes and edges of the data contract, with the arrays beside them.

Reads the engine's graph protocol; computes nothing (values come from `evaluate.py`) and places nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tutorlib.core.graph import Constant, Shared, Var
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort
from tutorlib.messages import message
from tutorlib.viz.face import shape_text, shorten
from tutorlib.viz.names import name_of, source_of
from tutorlib.viz.spec import letter_of
from tutorlib.viz.values import numbers_text, to_host

__all__ = ["LIMIT", "Drawing", "draw_graph"]

LIMIT = 10_000


@dataclass
class Drawing:
    """What is to be shown: contract nodes and edges, `arrays` by node id, and the way back to the engine's objects."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    order: list[Any] = field(default_factory=list)
    roots: list[Any] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    hidden: int = 0
    # Ids of nodes that are not shown: those in the middle of very long loops.
    dropped: set[str] = field(default_factory=set)
    # What stands above the ∂ of a derivative; the variable that each named gradient node belongs to; the variables
    # whose gradient was asked for and does not exist.
    cost: str = "L"
    targets: dict[str, str] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)
    # Where each static gradient is drawn as one node: all nodes that run, in order; the values of symbols inside, by
    # id; the symbol of each gradient node (None for that of the cost).
    running: list[Any] = field(default_factory=list)
    inner: dict[int, Any] = field(default_factory=dict)
    symbols: dict[str, Any] = field(default_factory=dict)
    _into: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    _indexed: int = 0

    def add(self, kind: str, label: str, *, thing: Any = None, var: Any = None, **more: Any) -> str:
        """Add a node and return its id; `thing` is the engine's object that it stands for."""
        name = f"n{len(self.nodes)}"
        op = more.pop("op", None)
        self.nodes.append(
            {
                "id": name,
                "kind": kind,
                "op": op,
                "name": None,
                "letter": letter_of(kind, op),
                "label": shorten(label),
                "scope": "",
                "shape": None if var is None else [None if n is None else int(n) for n in var.shape],
                "dtype": None if var is None else _dtype_name(var.dtype),
                "device": str(getattr(var, "device", None) or "") or None,
                "src": None,
                "formula": None,
                "requires_grad": bool(getattr(var, "requires_grad", False)),
                "value": None,
                "grad": None,
                "grad_of": None,
                "update_of": None,
                **more,
            }
        )
        if thing is not None:
            self.ids[id(thing)] = name
            self.objects[name] = thing
        return name

    def connect(self, source: str, target: str, kind: str = "forward", port: int = 0) -> None:
        """Add an edge; the axes along which the target broadcasts the source are marked."""
        a, b = self.node(source), self.node(target)
        broadcast = _broadcast(a["shape"], b) if kind == "forward" else []
        self.edges.append(
            {
                "id": f"e{len(self.edges)}",
                "s": source,
                "t": target,
                "kind": kind,
                "port": port,
                "label": shape_text(a["shape"]) if a["shape"] is not None else "",
                "broadcast": broadcast,
            }
        )

    def node(self, name: str) -> dict[str, Any]:
        """The contract node with this id."""
        return self.nodes[int(name[1:])]

    def edges_into(self, name: str) -> list[dict[str, Any]]:
        """The edges that end at this node, in the order of their ports."""
        while self._indexed < len(self.edges):
            edge = self.edges[self._indexed]
            self._into[edge["t"]].append(edge)
            self._indexed += 1
        return self._into[name]

    def replace_edges(self, edges: list[dict[str, Any]]) -> None:
        """Have these edges instead of those that were there."""
        self.edges, self._indexed = edges, 0
        self._into.clear()

    def seen(self) -> list[dict[str, Any]]:
        """The nodes that are shown."""
        return [node for node in self.nodes if node["id"] not in self.dropped]

    def id_of(self, var: Any) -> str | None:
        """The id of the node that shows `var`, or None where it is not drawn."""
        return self.ids.get(id(var.node if getattr(var, "node", None) is not None else var))


def draw_graph(
    roots: Sequence[Any],
    *,
    results: Sequence[Any] | None = None,
    limit: int = LIMIT,
    leave_out: Set[int] = frozenset(),
    late: Set[int] = frozenset(),
    between: Callable[[Drawing], None] | None = None,
) -> Drawing:
    """The graph above `roots`, at most `limit` nodes of it (the nearest); `results` are marked as outputs.

    Nodes in `leave_out` (by id) are not drawn: `between` adds what stands for them, before those in `late` are drawn.
    """
    drawing = Drawing(roots=list(roots))
    order = toposort(roots)
    kept = _nearest(roots, order, limit)
    marked = {id(v.node) for v in (roots if results is None else results) if v.node is not None}
    early = [node for node in order if id(node) in kept and id(node) not in leave_out and id(node) not in late]
    for node in early:
        _add_op(drawing, node, id(node) in marked, kept)
        drawing.order.append(node)
    if between is not None:
        between(drawing)
    for node in order:
        if id(node) in late and id(node) in kept:
            _add_op(drawing, node, id(node) in marked, kept)
            drawing.order.append(node)
    for root in roots:
        if root.node is None:
            leaf(drawing, root)
    for node in drawing.order:
        origin = getattr(node, "origin", None)
        if origin is not None and id(origin) in drawing.ids:
            drawing.node(drawing.ids[id(node)])["grad_of"] = drawing.ids[id(origin)]
    if len(kept) < len(order):
        drawing.hidden = len(order) - len(kept)
        drawing.notes.append(message("widgets.note_cut", total=len(order), shown=len(kept)))
    return drawing


def leaf(drawing: Drawing, var: Any) -> str:
    """The node of a leaf, added on first sight; a raw array or number in the graph is a constant of its own."""
    if isinstance(var, Var) and id(var) in drawing.ids:
        return drawing.ids[id(var)]
    name = str(var.name) if isinstance(var, Var) and var.name else None
    if isinstance(var, Shared) or (isinstance(var, Tensor) and hasattr(var, "storage")):
        kind, value = "shared", var.storage.value
    elif isinstance(var, Tensor):
        kind, value = "input" if var.requires_grad or name else "constant", var.data
    elif isinstance(var, Constant):
        kind, value = "constant", var.value
    elif isinstance(var, Var):
        kind, value = "input", None
    else:
        kind, value = "constant", var
    array = None if value is None else to_host(value)
    label = name or message(f"widgets.kind_{kind}")
    if name is None and kind == "constant" and array is not None and array.size <= 3:
        label = numbers_text(array)
    found = drawing.add(
        kind, label, thing=var, var=var if isinstance(var, Var) else array, name=name,
        requires_grad=bool(getattr(var, "requires_grad", kind == "shared")),
    )  # fmt: skip
    if array is not None:
        drawing.arrays[found] = array
    return found


_dtype_name = lru_cache(maxsize=64)(str)


def _add_op(drawing: Drawing, node: Any, is_result: bool, kept: set[int]) -> None:
    out = node.outputs[0]
    backward = node.role == "backward"
    name = name_of(out, node)
    kind = "gradient" if backward else "output" if is_result else "op"
    found = drawing.add(
        kind, f"{name} = {node.op.name}" if name else node.op.name, thing=node, var=out, op=node.op.name, name=name,
        scope=node.scope or "", src=source_of(node),
    )  # fmt: skip
    if isinstance(out, Tensor):
        drawing.arrays[found] = out.data
    hidden = False
    for port, var in enumerate(node.inputs):
        inner = getattr(var, "node", None)
        if inner is not None and id(inner) not in kept:
            hidden = True
            continue
        source = drawing.ids[id(inner)] if inner is not None else leaf(drawing, var)
        drawing.connect(source, found, _edge_kind(drawing.node(source), backward), port)
    if hidden:
        more = drawing.add("input", message("widgets.more_above"))
        drawing.connect(more, found)


def _edge_kind(source: dict[str, Any], backward: bool) -> str:
    if source["kind"] == "gradient":
        return "gradient"
    return "saved" if backward and source["kind"] != "constant" else "forward"


def _broadcast(shape: list[int | None] | None, target: dict[str, Any]) -> list[int]:
    """Axes of length 1 of an operand that an elementwise op stretches."""
    wide = target["shape"]
    if not shape or wide is None or len(wide) < len(shape) or target["op"] not in _STRETCHING:
        return []
    return [
        i
        for i, (n, m) in enumerate(zip(shape, wide[len(wide) - len(shape) :], strict=True))
        if n == 1 and m not in (1, None)
    ]


_STRETCHING = frozenset(
    "add sub mul div pow maximum minimum where eq ne lt le gt ge floordiv mod broadcast_to logaddexp arctan2".split()
)


def _nearest(roots: Sequence[Any], order: list[Any], limit: int) -> set[int]:
    """Ids of at most `limit` nodes, those with the shortest way to a result first."""
    if len(order) <= limit:
        return {id(node) for node in order}
    kept: dict[int, Any] = {}
    wave = [root.node for root in roots if root.node is not None]
    while wave and len(kept) < limit:
        following = []
        for node in wave:
            if id(node) in kept or len(kept) >= limit:
                continue
            kept[id(node)] = node
            following += [v.node for v in node.inputs if getattr(v, "node", None) is not None]
        wave = following
    return set(kept)
