// The coloured track of the slider: one stretch for each phase, filled as far as the steps have come, named below.
import { h, HIDDEN, put } from "./dom.js";

export function phaseBand(t) {
  const root = h("div.tl-band", HIDDEN);
  const show = (phases, total) => put(root, phases.map(({ phase, from, to }) =>
    h("span", { "data-phase": phase, style: `flex:${to - from};--from:${from};--to:${to}` },
      (to - from) / total > 0.12 && t(`phase_${phase}`))));
  return { root, show, moveTo: (step) => root.style.setProperty("--step", step) };
}
