// The clock under a static graph and a dynamic trace: one lane for each, and a hand at the moment that is shown.
import { h } from "./dom.js";
import { lane, SIDES } from "./compare_model.js";

/** {root, moveTo(step)}; `seek(step)` hears of clicks in a lane. */
export function clockOf(spec, t, seek) {
  const rows = SIDES.map((side) => {
    const runs = lane(spec, side).map(({ phase, from, to }) =>
      h("span.tl-span", { "data-phase": phase, style: `width:${(100 * (to - from)) / spec.steps.length}%` }, phase && t(`ui_clock_${phase}`)));
    const track = h("div.tl-lane", runs);
    track.addEventListener("click", (event) => {
      const { left, width } = track.getBoundingClientRect();
      seek(Math.floor(((event.clientX - left) / width) * spec.steps.length));
    });
    return h("div.tl-clock-row", h("b", spec.titles[side]), track);
  });
  const root = h("div.tl-clock", { "aria-hidden": "true", title: t("ui_compare_clock") }, rows, h("i.tl-hand"));
  const moveTo = (step) => root.style.setProperty("--at", (step + 0.5) / spec.steps.length);
  return { root, moveTo };
}
