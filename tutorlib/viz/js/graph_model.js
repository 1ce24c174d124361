// Everything the graph view knows about its spec before it draws: neighbours, ranks, states at a step, search. Pure.
import { foldSpec } from "./graph_fold.js";
import { shapeText } from "./numbers.js";

/** Lookup tables over a spec as `view` folds it, built once; `index.spec` is what is seen. */
export function indexGraph(whole, view = whole) {
  const spec = foldSpec(whole, view);
  const nodes = new Map(spec.graph.nodes.map((node) => [node.id, node]));
  const { nodes: seen, edges } = spec.graph;
  const trace = spec.trace ?? [];
  const id = (node) => node.id;
  return {
    spec, nodes, trace,
    producers: grouped(edges, (edge) => edge.t),
    consumers: grouped(edges, (edge) => edge.s),
    gradients: grouped(seen, gradientOf, id),
    updates: grouped(seen, (node) => node.update_of, id),
    events: grouped(trace, (event) => event.node, (_, at) => at),
    order: seen.map(id),
    ranks: new Map((spec.rows ?? []).flatMap((row) => row.map((name) => [name, row]))),
    phases: phasesOf(trace),
  };
}

/** The id of the variable whose gradient a node holds; an op of a symbolic gradient may stand for none. */
export const gradientOf = (node) => node.target ?? (node.op ? null : node.grad_of);

/** A map from `key(item)` to the list of `value(item)` of all items. */
function grouped(items, key, value = (item) => item) {
  const map = new Map();
  items.forEach((item, at) => {
    const name = key(item);
    if (!map.has(name)) map.set(name, []);
    map.get(name).push(value(item, at));
  });
  return map;
}

/** Runs of equal phase: [{phase, from, to}], events `from` up to but without `to`. */
function phasesOf(trace) {
  const phases = [];
  trace.forEach((event, at) => {
    if (phases.at(-1)?.phase === event.phase) phases.at(-1).to = at + 1;
    else phases.push({ phase: event.phase, from: at, to: at + 1 });
  });
  return phases;
}

/** A step of the right kind: a whole number from 0 to the trace's length. */
export function clampStep(index, step) {
  return Math.min(index.trace.length, Math.max(0, Math.round(Number(step) || 0)));
}

/** The event shown at a step, or null before the first. */
export function eventAt(index, step) {
  return step > 0 ? index.trace[step - 1] : null;
}

/** "current", "done" or "future" for a node at a step. Nodes without an event were there from the start. */
export function stateOf(index, id, step) {
  if (eventAt(index, step)?.node === id) return "current";
  const first = index.events.get(id)?.[0];
  return first === undefined || first < step ? "done" : "future";
}

/**
 * The id of the value a node holds at a step, or null when it has none yet; "?" while `index.asked` is to be guessed.
 * Events from `index.shown` on are not shown yet.
 */
export function valueAt(index, id, step) {
  if (index.asked === id) return "?";
  const node = index.nodes.get(id);
  if (node.fold) return null;
  const own = latest(index, id, step);
  if (own !== undefined) return index.trace[own].value ?? node.value ?? null;
  if (index.events.has(id)) return null;
  for (const update of index.updates.get(id) ?? []) {
    const at = latest(index, update, step);
    if (at !== undefined) return index.trace[at].value ?? node.value ?? null;
  }
  return node.value ?? null;
}

function latest(index, id, step) {
  return index.events.get(id)?.findLast((at) => at < Math.min(step, index.shown ?? step));
}

/** The gradient that belongs to a node at a step: {state: "none" | "later" | "here", value}. */
export function gradientAt(index, id, step) {
  const node = index.nodes.get(id);
  const own = index.gradients.get(id) ?? [];
  const timed = own.filter((gradient) => index.events.has(gradient));
  if (timed.length) {
    const done = timed.filter((gradient) => stateOf(index, gradient, step) !== "future");
    if (!done.length) return { state: "later", value: null };
    const all = done.length === timed.length;
    return { state: "here", value: all && node.grad ? node.grad : valueAt(index, done.at(-1), step) };
  }
  const value = node.grad ?? own.map((gradient) => index.nodes.get(gradient).value).find(Boolean) ?? null;
  return { state: value ? "here" : "none", value };
}

/** Whether a value holds NaN or an infinity. */
export function isBad(value) {
  return Boolean(value?.stats && (value.stats.nan > 0 || value.stats.inf > 0));
}

/** Whether a node, or anything in a folded scope, holds NaN or inf at this step. */
export function isBadAt(index, id, step) {
  const node = index.nodes.get(id);
  const bad = (key) => isBad(index.spec.values[key]);
  if (node.kind === "error") return true;
  if (!node.fold) return bad(valueAt(index, id, step));
  return Boolean(index.events.get(id)?.some((at) => at < step && bad(index.trace[at].value)));
}

/** The step that shows the first event of a phase after `step`, else the first of all; null when there is none. */
export function phaseStep(index, phase, step) {
  const starts = index.phases.filter((run) => run.phase === phase).map((run) => run.from + 1);
  return starts.find((start) => start > step) ?? starts[0] ?? null;
}

/** Ids of the nodes whose name, op, label, scope, shape or dtype holds `query`; "nan" and "inf" find such values. */
export function searchNodes(index, query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const special = wanted === "nan" || wanted === "inf";
  return index.order.filter((id) => {
    const node = index.nodes.get(id);
    if (special && isBad(index.spec.values[node.value])) return true;
    return [node.name, node.op, node.label, node.scope, shapeText(node.shape), node.dtype, node.kind]
      .some((text) => text?.toLowerCase().includes(wanted));
  });
}

/** Ids of nodes that hold NaN or inf at this step, in order. */
export function badNodes(index, step) {
  return index.order.filter((id) => isBadAt(index, id, step));
}

/** Where an arrow key leads: "down" to a consumer, "up" to a producer, "left"/"right" in the rank. Null at an end. */
export function neighbour(index, id, direction, cameFrom = null) {
  if (direction === "left" || direction === "right") {
    const rank = index.ranks.get(id) ?? [id];
    return rank[rank.indexOf(id) + (direction === "left" ? -1 : 1)] ?? null;
  }
  const edges = direction === "down" ? index.consumers.get(id) : index.producers.get(id);
  const ends = (edges ?? []).map((edge) => (direction === "down" ? edge.t : edge.s));
  if (ends.length) return ends.includes(cameFrom) ? cameFrom : ends[0];
  return throughTitle(index, index.nodes.get(id), direction);
}

/** From a node without producers up to the title of its scope, and from a title down into the scope. */
function throughTitle({ order, nodes }, node, direction) {
  return order.find((id) => (direction === "up" ? nodes.get(id).open && nodes.get(id).fold === node.scope
    : node.open && nodes.get(id).scope === node.fold)) ?? null;
}

/** Level, position and size of its set for each tree item, as ARIA wants them. */
export function treePositions(index) {
  const levels = index.spec.levels ?? {};
  const counts = new Map();
  const positions = index.order.map((id) => {
    const level = levels[id] ?? 1;
    counts.set(level, (counts.get(level) ?? 0) + 1);
    return { id, level, position: counts.get(level) };
  });
  return new Map(positions.map(({ id, level, position }) => [id, { level, position, size: counts.get(level) }]));
}
