"""Runs a built notebook, keeps what is the same on every machine, and measures what it took.

It needs nbclient and ipykernel, which the `docs` extra installs. What the cells are lives in `build.py`.
"""

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tutorlib
from tutorlib.messages import DEFAULT_LANGUAGE

CELL_SECONDS = 60
TEXTS = ("text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml")
VIEW = "application/vnd.jupyter.widget-view+json"

# The same settings under which the stored outputs are compared.
SETTINGS = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "TUTORLIB_DEVICE": "cpu",
    "TUTORLIB_DISPLAY": "static",
    "TUTORLIB_PROGRESS": "",
}


# Run after the lesson's last cell, in its kernel, and never kept.
PEAK_CELL: dict[str, Any] = {
    "cell_type": "code",
    "execution_count": None,
    "id": "peak-memory",
    "outputs": [],
    "source": "from tutorlib.lessons.execute import peak_bytes\nprint(peak_bytes())",
}


class CellFailed(RuntimeError):
    """A cell raised, ran too long or took the kernel with it; the message names its key and says how."""


@dataclass(frozen=True)
class Run:
    """An executed notebook, and what it took: wall seconds with the kernel's start, those of each cell by key, and the
    largest memory of the kernel in bytes (None where the system does not tell)."""

    notebook: dict[str, Any]
    seconds: float
    cells: dict[str, float]
    peak_bytes: int | None


def environment(language: str = DEFAULT_LANGUAGE) -> dict[str, str]:
    """The environment of a kernel that executes lessons: this package first, static pictures, no progress file."""
    package_root = str(Path(tutorlib.__file__).parents[1])
    inherited = {name: value for name, value in os.environ.items() if name != "TUTORLIB_SEED"}
    search_path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH")]))
    return {**inherited, **SETTINGS, "TUTORLIB_LANG": language, "PYTHONPATH": search_path}


def execute_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of running all its cells, in order, in one fresh kernel.

    Raises `CellFailed` for the first cell that raises, or does not come to an end.
    """
    return run_notebook(notebook).notebook


def run_notebook(notebook: dict[str, Any]) -> Run:
    """Run all cells as `execute_notebook` does, and measure. Raises `CellFailed`."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    node = nbformat.reads(json.dumps(notebook), as_version=4)
    metadata = notebook["metadata"]
    asks = nbformat.from_dict({**PEAK_CELL, "metadata": {"key": "peak-memory"}})
    node.cells.append(asks)
    began: dict[str, float] = {}
    took: dict[str, float] = {}
    place = "before the first cell"

    def begin(cell: Any, cell_index: int) -> None:
        nonlocal place
        place = f"{metadata['tutorlib']['lesson']}, cell {cell.metadata.key}"
        began[cell.id] = time.perf_counter()

    def end(cell: Any, cell_index: int, **reply: Any) -> None:
        took[cell.id] = time.perf_counter() - began[cell.id]

    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            node,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],
            record_timing=False,
            store_widget_state=False,
            resources={"metadata": {"path": folder}},
            on_cell_execute=begin,
            on_cell_executed=end,
        )
        started = time.perf_counter()
        try:
            client.execute(env=environment(metadata["tutorlib"]["language"]))
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as problem:
            raise CellFailed(f"{place}: {problem}") from None
    seconds = time.perf_counter() - started
    node.cells.remove(asks)
    took.pop(asks.id)
    executed = {**node, "metadata": metadata, "cells": [clean_cell(cell) for cell in node.cells]}
    nbformat.validate(nbformat.from_dict(executed))
    peak = int("".join(output.get("text", "") for output in asks.outputs) or 0)
    return Run(executed, seconds, took, peak or None)


def peak_bytes() -> int:
    """The largest memory that this process has held so far, in bytes; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def clean_cell(cell: Any) -> dict[str, Any]:
    """The cell as plain JSON, its text in lines, its outputs without what differs from run to run."""
    kept = {**cell, "metadata": dict(cell["metadata"]), "source": lines_of(cell["source"])}
    if cell["cell_type"] == "code":
        kept["outputs"] = [clean_output(output) for output in merge_streams(cell["outputs"]) if not is_control(output)]
    return kept


def is_control(output: Any) -> bool:
    """Whether an output is a slider or a button: without a kernel only its name would be left of it."""
    return VIEW in output.get("data", {}) and "text/html" not in output["data"]


def merge_streams(outputs: list[Any]) -> list[dict[str, Any]]:
    """Neighbouring pieces of one stream joined: a kernel cuts them where its clock says."""
    merged: list[dict[str, Any]] = []
    for output in map(dict, outputs):
        last = merged[-1] if merged else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] = text_of(last["text"]) + text_of(output["text"])
        else:
            merged.append(output)
    return merged


def clean_output(output: dict[str, Any]) -> dict[str, Any]:
    """One output without live widget views, its texts in lines as notebook files hold them."""
    if "text" in output:
        return {**output, "text": lines_of(output["text"])}
    if "data" not in output:
        return output
    data = {kind: value for kind, value in output["data"].items() if kind != VIEW}
    cleaned = {kind: lines_of(value) if kind in TEXTS else value for kind, value in data.items()}
    return {**output, "data": cleaned, "metadata": dict(output["metadata"])}


def text_of(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def lines_of(text: str | list[str]) -> list[str]:
    return text_of(text).splitlines(keepends=True)
