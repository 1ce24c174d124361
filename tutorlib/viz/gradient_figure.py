"""GradientView as a Matplotlib figure, for papers and slides."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.messages import message

__all__ = ["gradient_figure"]

LONGEST = 46


def gradient_figure(spec: dict[str, Any], step: int = -1) -> Any:
    """Flow, layer × step and relative change, side by side, as a `matplotlib.figure.Figure`."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    layers, steps, bands = spec["layers"], spec["steps"], spec["bands"]
    names = [layer["name"] for layer in layers]
    figure = Figure(figsize=(12, max(2.6, 1.4 + 0.42 * len(layers))), layout="constrained")
    flow, heat, ratio = figure.subplots(1, 3, width_ratios=(1.2, 1.2, 1))
    at = range(len(steps))[step]
    rows = [spec["cells"][layer["id"]] for layer in layers]
    boxes = [
        {"whislo": q[0], "q1": q[1], "med": q[2], "q3": q[3], "whishi": q[4], "label": name}
        if (q := [float(v) for v in row[at].get("q", [])])
        else {"whislo": np.nan, "q1": np.nan, "med": np.nan, "q3": np.nan, "whishi": np.nan, "label": name}
        for name, row in zip(names, rows, strict=True)
    ]
    flow.bxp(boxes, orientation="horizontal", showfliers=False)
    flow.set_xscale("log")
    flow.invert_yaxis()
    flow.set_title(message("widgets.gradient_flow_title", update=steps[at]["update"]))
    flow.set_xlabel("|g|")
    low, high = flow.get_xlim()
    if low < bands["tiny"]:
        flow.axvspan(low, bands["tiny"], alpha=0.15, color="C3", label=message("widgets.gradient_band_tiny"))
    if high > bands["huge"]:
        flow.axvspan(bands["huge"], high, alpha=0.15, color="C1", label=message("widgets.gradient_band_huge"))
    flow.set_xlim(low, high)
    for row_number, row in enumerate(rows, start=1):
        words = _words(row[at])
        if words:
            flow.annotate(words, (0.02, row_number), xycoords=("axes fraction", "data"), va="center", fontsize=6)
    norms = np.array([[np.nan if c["norm"] is None else float(c["norm"]) for c in row] for row in rows])
    good = norms[np.isfinite(norms) & (norms > 0)]
    updates = np.array([s["update"] for s in steps], dtype=float)
    edges = np.concatenate([[updates[0] - 0.5], (updates[1:] + updates[:-1]) / 2, [updates[-1] + 0.5]])
    shown = np.ma.masked_invalid(np.where(norms == 0, np.nan, norms))
    limits = LogNorm(good.min(), max(good.max(), good.min() * 1.01)) if good.size else None
    image = heat.pcolormesh(edges, np.arange(len(layers) + 1) - 0.5, shown, cmap="cividis", norm=limits)
    y, x = np.nonzero(~np.isfinite(norms) & np.array([[c["norm"] is not None for c in row] for row in rows]))
    heat.scatter(updates[x], y, marker="x", color="C3", s=14)
    heat.set_yticks(range(len(layers)), names)
    heat.invert_yaxis()
    heat.set_title(message("widgets.gradient_heat_title"))
    heat.set_xlabel(message("widgets.shared_header"))
    if good.size:
        figure.colorbar(image, ax=heat, label="‖g‖")
    for name, row in zip(names, rows, strict=True):
        ratio.plot(
            updates, [np.nan if c.get("ratio") is None else float(c["ratio"]) or np.nan for c in row], label=name
        )
    ratio.axhline(bands["guide"], ls="--", color="0.4", lw=1)
    ratio.set_yscale("log")
    ratio.set_title("‖Δw‖ / ‖w‖")
    ratio.set_xlabel(message("widgets.shared_header"))
    if len(names) <= 8:
        ratio.legend(fontsize=7)
    return figure


def _words(cell: dict[str, Any]) -> str:
    if cell["norm"] is None:
        return cell["why"] if len(cell["why"]) <= LONGEST else f"{cell['why'][: LONGEST - 1]}…"
    bad = [
        f"{cell[key]} {word}" for key, word in (("nan", "NaN"), ("pos_inf", "+inf"), ("neg_inf", "−inf")) if cell[key]
    ]
    return ", ".join(bad) or ("" if cell["q"] else message("widgets.gradient_all_zero"))
