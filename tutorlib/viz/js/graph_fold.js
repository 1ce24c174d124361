// Folds named scopes: the graph that is seen when some are folded to pills and the others are open. Pure.

/** A function scope id → the outermost folded scope around it, or null. */
function outermostFolded(spec, collapsed) {
  const scopes = new Map((spec.graph.scopes ?? []).map((scope) => [scope.id, scope]));
  const folded = new Set(collapsed);
  const known = new Map();
  const find = (id) => {
    const scope = scopes.get(id);
    if (!scope) return null;
    if (!known.has(id)) known.set(id, find(scope.parent) ?? (folded.has(id) ? scope : null));
    return known.get(id);
  };
  return find;
}

const pillOf = (scope, node) => scope.key + (node.back ? "g" : "");

/** Where each node is seen: node id → its own id or that of the pill it is in. */
export function placesOf(spec, collapsed) {
  const outermost = outermostFolded(spec, collapsed ?? []);
  return new Map(spec.graph.nodes.map((node) => {
    const scope = outermost(node.scope);
    return [node.id, scope ? pillOf(scope, node) : node.id];
  }));
}

/** Scopes from the innermost around `scope` to the outermost. */
export function scopesAround(spec, scope) {
  const scopes = new Map((spec.graph.scopes ?? []).map((entry) => [entry.id, entry]));
  const found = [];
  for (let at = scopes.get(scope); at && found.length < scopes.size; at = scopes.get(at.parent)) found.push(at);
  return found;
}

/**
 * The spec as it is seen with `view`'s scopes folded: nodes are those outside them, pills, and the titles of open scopes
 * (`open`); edges and events lead to these. An event keeps as `of` whose it was; `places` tells where a node is seen.
 */
export function foldSpec(spec, view = spec) {
  const { layout, collapsed = [] } = view;
  const places = placesOf(spec, collapsed);
  const outermost = outermostFolded(spec, collapsed);
  const seen = (id) => places.get(id) ?? id;
  const nodes = new Map();
  for (const node of spec.graph.nodes) {
    const scope = outermost(node.scope);
    const id = seen(node.id);
    if (nodes.has(id)) continue;
    const moved = { ...node, grad_of: seen(node.grad_of), update_of: seen(node.update_of), target: seen(node.target) };
    nodes.set(id, scope ? pill(scope, node.back) : collapsed.length ? moved : node);
  }
  const edges = new Map();
  for (const edge of spec.graph.edges) {
    const [s, t] = [seen(edge.s), seen(edge.t)];
    if (s === t) continue;
    const whole = s === edge.s && t === edge.t;
    const key = whole ? edge.id : `${s} ${t} ${edge.kind}`;
    const known = edges.get(key);
    if (!known) edges.set(key, whole ? edge : { ...edge, s, t, broadcast: [] });
    else if (known.label !== edge.label) known.label = "";
  }
  const boxes = { ...layout?.nodes };
  const scopes = new Map((spec.graph.scopes ?? []).map((scope) => [scope.key, scope]));
  for (const { key, bar, main } of view.frames ?? []) {
    if (!main) continue;
    boxes[key] = bar;
    nodes.set(key, { ...pill(scopes.get(key), false), label: scopes.get(key).title, open: true });
  }
  const trace = !collapsed.length ? spec.trace : spec.trace?.map((event) =>
    ({ ...event, of: event.node, node: seen(event.node), inputs: (event.inputs ?? []).map(seen) }));
  return {
    ...spec, ...view, graph: { ...spec.graph, nodes: [...nodes.values()], edges: [...edges.values()] },
    layout: { ...layout, nodes: boxes }, trace, places,
  };
}

function pill(scope, back) {
  return {
    id: scope.key + (back ? "g" : ""), kind: back ? "gradient" : "scope", op: null, name: null, letter: "▸",
    label: back ? scope.back_label : scope.label, scope: scope.parent, shape: null, dtype: null, value: null, grad: null,
    type: back ? "" : scope.type, spoken: back ? scope.back_label : scope.spoken, grad_of: back ? scope.key : null,
    fold: scope.id, back,
  };
}
