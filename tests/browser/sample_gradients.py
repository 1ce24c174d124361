"""A spec of GradientView made by hand: three layers, one of them never reached, one that holds NaN at a step."""

from __future__ import annotations

WHY = "not reached: step computes without it"


def _cell(scale: float, ratio: float, nan: int = 0) -> dict:
    counts = [0] * 24
    counts[6], counts[17] = 3, 5
    return {
        "norm": "NaN" if nan else scale, "q": [] if nan else [scale * f for f in (0.01, 0.1, 0.3, 0.6, 1.0)],
        "counts": [0] * 24 if nan else counts, "size": 10, "zero": 0 if nan else 2, "ratio": ratio,
        "nan": nan, "pos_inf": 0, "neg_inf": 0,
    }  # fmt: skip


def gradients(steps: int = 12) -> dict:
    """Layer "w" is ordinary, "b" vanishes and is NaN at the tenth step, "u" has no gradient."""
    edges = [10.0 ** (-6 + i / 2) for i in range(13)]
    layers = [
        {"id": f"s{i}", "name": name, "edges": edges, "shape": [10], "dtype": "float64"}
        for i, name in enumerate(("w", "b", "u"))
    ]
    cells = {
        "s0": [_cell(0.5 / (i + 1), 1e-2) for i in range(steps)],
        "s1": [_cell(1e-8, 1e-4, nan=10 if i == 9 else 0) for i in range(steps)],
        "s2": [{"norm": None, "why": WHY} for _ in range(steps)],
    }
    return {
        "version": 1, "layers": layers, "cells": cells,
        "steps": [{"update": i + 1, "by": "step", "marks": [], "loss": 1.0} for i in range(steps)],
        "bands": {"tiny": 1e-7, "huge": 1e3, "guide": 1e-3},
        "text": "layer  norm", "summary": "Gradients of a run: layers 3.",
    }  # fmt: skip
