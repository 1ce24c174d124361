// Linked views tell each other what is selected, on the page itself: it works without a kernel and between widgets that
// were built apart. Variables are known by their names, updates by their numbers.

const BUS = Symbol.for("tutorlib.links");

/**
 * Take part in the link whose name is the trait `link` ("" for none), now and when it changes. `hear(message)` gets what
 * other views say: {variable?, node?, update?}. Returns {tell(message), stop}.
 */
export function joinLink(model, hear) {
  const bus = (globalThis[BUS] ??= new EventTarget());
  const me = {};
  let name = "";
  const on = (event) => event.detail.from !== me && hear(event.detail);
  const join = () => {
    if (name) bus.removeEventListener(name, on);
    name = model.get("link") || "";
    if (name) bus.addEventListener(name, on);
  };
  join();
  model.on("change:link", join);
  return {
    tell: (message) => name && bus.dispatchEvent(new CustomEvent(name, { detail: { ...message, from: me } })),
    stop() {
      model.off("change:link", join);
      if (name) bus.removeEventListener(name, on);
    },
  };
}

const NAMED = new Set(["shared", "input"]);

/** What a graph says of a node that was selected: the node, and the variable that it is, or whose gradient or update. */
export function saidOf(nodes, id) {
  const node = nodes.get(id);
  const of = nodes.get(node.grad_of ?? node.update_of) ?? node;
  return { node: id, label: node.label, variable: NAMED.has(of.kind) ? of.name : null };
}

/** The node of a graph that a message means: the variable by its name, else the same node of another graph; or null. */
export function nodeOf(nodes, { node, label, variable }) {
  if (nodes.get(node)?.label === label && label !== undefined) return node;
  for (const [id, other] of nodes) if (variable && other.name === variable && NAMED.has(other.kind)) return id;
  return null;
}

/** The place in `numbers`, which grow, of the last one that is at most `wanted`; 0 where all are larger. */
export function placeOf(numbers, wanted) {
  return Math.max(0, numbers.findLastIndex((number) => number <= wanted));
}
