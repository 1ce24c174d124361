// What the compare view knows about its spec before it draws: marks, partners, differences in order, lanes. Pure.

export const SIDES = ["left", "right"];
export const other = (side) => (side === "left" ? "right" : "left");

/** A step of the right kind: a whole number from 0 to the last step. */
export function clampStep(spec, step) {
  return Math.min(spec.steps.length - 1, Math.max(0, Math.round(Number(step) || 0)));
}

/** How the two graphs of a step match: {partner: {left, right}, sign: {left, right}, together: {left, right}}, Maps by id. */
export function matchAt(spec, step) {
  const entry = spec.matches[spec.steps[step].match];
  const maps = () => ({ left: new Map(), right: new Map() });
  const [partner, sign, together] = [maps(), maps(), maps()];
  for (const [a, b, mark] of entry.pairs) {
    partner.left.set(a, b);
    partner.right.set(b, a);
    sign.left.set(a, mark);
    sign.right.set(b, mark);
  }
  for (const id of entry.left) sign.left.set(id, "-");
  for (const id of entry.right) sign.right.set(id, "+");
  if (entry.replaced.length) {
    SIDES.forEach((side, at) => {
      for (const id of entry.replaced[at]) together[side].set(id, entry.replaced);
    });
  }
  return { partner, sign, together };
}

/** Ids of the nodes that exist at a step in one pane, and keys of the scopes around them; null where all do. */
export function bornAt(spec, step, side) {
  const { graph, born } = spec.steps[step][side];
  const lines = spec.born[graph];
  if (!lines) return null;
  const { nodes, scopes = [] } = spec.graphs[graph].graph;
  const there = nodes.filter(({ id }) => lines[id] <= born);
  const around = scopes.filter(({ id }) => there.some(({ scope }) => `${scope}/`.startsWith(`${id}/`)));
  return new Set([...there.map(({ id }) => id), ...around.map(({ key }) => key)]);
}

/** All that differs at a step, as [side, id], in the order of the nodes; a changed pair once, on the left. */
export function mismatches(spec, step) {
  const { sign } = matchAt(spec, step);
  return SIDES.flatMap((side) => {
    const there = bornAt(spec, step, side);
    return spec.graphs[spec.steps[step][side].graph].graph.nodes
      .map((node) => node.id)
      .filter((id) => sign[side].get(id) !== "=" && !(side === "right" && sign.right.get(id) === "~"))
      .filter((id) => !there || there.has(id))
      .map((id) => [side, id]);
  });
}

/** Runs of equal phase in one lane of the clock: [{phase, from, to}], a new call is a new run. */
export function lane(spec, side) {
  const runs = [];
  spec.steps.forEach(({ [side]: state }, at) => {
    const last = runs.at(-1);
    if (last?.phase === state.phase && last.graph === state.graph) last.to = at + 1;
    else runs.push({ phase: state.phase, graph: state.graph, from: at, to: at + 1 });
  });
  return runs;
}

/** "left n3" as ["left", "n3"], or null for anything else. */
export function parseSelected(text) {
  const found = /^(left|right) (\S+)$/.exec(text ?? "");
  return found && [found[1], found[2]];
}
