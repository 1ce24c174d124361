"""One table: tutorlib beside hand-written NumPy and, where installed, PyTorch, JAX, PyTensor, autograd and MyGrad.

    python benchmarks/run.py                                 all workloads, all engines found
    python benchmarks/run.py --workloads W2,W3 --engines tutorlib_static,jax_jit --rounds 11
    python benchmarks/run.py --growth                        W8: cost against graph size
    python benchmarks/run.py --imports                       W9: what an import costs
    python benchmarks/run.py --layout                        how long placing the nodes of a drawn graph takes

Every engine of a workload has a process of its own; all are alive together and are timed in turn, round after round, so
that a ratio is always between neighbours in time. A turn is cut into parts and the best counts. Printed: the median
over rounds of time / time of hand-written NumPy in the same round. Every engine starts from the same parameters; its
first four losses and its parameters after them must agree with the hand-written step, or it is marked "differs". One
thread each, on one core. On arrays of megabytes engines that allocate depend on how the C library gives memory back;
``--keep-memory`` lets it keep what it has.
"""

import argparse
import json
import os
import resource
import selectors
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import workloads  # noqa: E402

ENGINES = (
    "numpy_hand",
    "tutorlib_static",
    "tutorlib_c",
    "tutorlib_dynamic",
    "tutorlib_static_lstm",
    "tutorlib_dynamic_lstm",
    "torch_eager",
    "torch_nn",
    "torch_compile",
    "jax_jit",
    "pytensor_",
    "autograd_",
    "mygrad_",
)
REFERENCE = "numpy_hand"
PARTS = 5
IMPORTS = ("numpy", "tutorlib", "tutorlib.compile.names", "torch", "jax", "pytensor", "autograd", "mygrad")
GROWTH = (100, 1000, 10_000)
DRAWN = (300, 3000)


def environment(keep_memory=False):
    env = dict(os.environ)
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA"):
        env[f"{name}_NUM_THREADS"] = "1"
    if keep_memory:
        env["MALLOC_TRIM_THRESHOLD_"] = str(1 << 28)
        env["MALLOC_MMAP_THRESHOLD_"] = str(1 << 25)  # glibc takes no more
    return env


class Worker:
    """A process that holds one engine and one workload."""

    def __init__(self, module, workload, args, length=0):
        command = [sys.executable, str(HERE / "worker.py"), module, workload, str(length)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(args.keep_memory),
        )
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, {args.core})

    def read(self, timeout):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                self.process.kill()
                return {"event": "failed", "why": f"no answer within {timeout:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"event": "failed", "why": f"ended ({self.process.wait()})"}

    def time(self, n, parts, timeout):
        self.process.stdin.write(json.dumps({"n": n, "parts": parts}) + "\n")
        self.process.stdin.flush()
        return self.read(timeout)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def measured(workload, args):
    """By engine: what its worker said, with ``seconds`` and ``ratio`` where it ran."""
    rows, live = {}, {}
    for module in args.engines:
        worker = Worker(module, workload, args)
        rows[module] = worker.read(args.timeout)
        if rows[module]["event"] == "ready":
            live[module] = worker
        else:
            worker.close()
    counts, samples = {}, {module: {} for module in live}
    for module, worker in live.items():
        once = worker.time(1, 1, args.timeout)[args.clock]
        counts[module] = max(1, min(2000, int(args.slot / PARTS / max(once, 1e-7))))
    order = list(live)
    for number in range(args.rounds):
        for module in order[number % len(order) :] + order[: number % len(order)]:
            answer = live[module].time(counts[module], PARTS, args.timeout)
            samples[module][number] = answer[args.clock]
    for worker in live.values():
        worker.close()
    for module, found in samples.items():
        row = rows[module]
        row["seconds"] = statistics.median(found.values())
        ratios = sorted(t / samples[REFERENCE][k] for k, t in found.items())
        row["ratio"] = statistics.median(ratios)
        row["quartiles"] = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
        row["agrees"] = _agrees(row, rows[REFERENCE])
    return rows


def _agrees(row, reference):
    pairs = [*zip(row["losses"], reference["losses"], strict=True)]
    pairs += [(row["norms"][k], v) for k, v in reference["norms"].items()]
    return all(abs(a - b) <= 2e-4 * (abs(b) + 1e-3) for a, b in pairs)


def _time(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


def compare(args):
    results = {}
    for workload in args.workloads:
        rows = results[workload] = measured(workload, args)
        print(f"\n{workload}   load {os.getloadavg()[0]:.1f}")
        print(f"  {'engine':18}{'step':>10}{'/ NumPy':>9}{'quartiles':>14}{'build':>10}{'first':>10}{'MB':>7}")
        for row in sorted(rows.values(), key=lambda r: r.get("ratio", 1e9)):
            if "ratio" not in row:
                continue
            low, high = row["quartiles"]
            print(
                f"  {row['engine']:18}{_time(row['seconds']):>10}{row['ratio']:9.2f}{f'{low:.2f}–{high:.2f}':>14}"
                f"{_time(row['build']):>10}{_time(row['first']):>10}{row['memory']:7.0f}"
                f"{'' if row['agrees'] else '  differs'}"
            )
        for module, row in rows.items():
            if row["event"] == "failed" or (args.verbose and "ratio" not in row):
                print(f"  {module:18}{row['event']}: {row['why']}")
        sys.stdout.flush()
        if args.json:
            Path(args.json).write_text(json.dumps(results, indent=1))
    _summary(results)


def _summary(results):
    """One line an engine, one column a workload."""
    names = {m: r["engine"] for rows in results.values() for m, r in rows.items() if "ratio" in r}
    print(f"\n{'ratio to NumPy by hand':22}" + "".join(f"{w:>8}" for w in results))
    for module, name in names.items():
        cells = [rows.get(module, {}).get("ratio") for rows in results.values()]
        print(f"{name:22}" + "".join(f"{'–' if c is None else f'{c:.2f}':>8}" for c in cells))


def growth(args):
    """W8: chains of n elementwise ops, each in a fresh process."""
    print(f"{'engine':20}{'ops':>8}{'build + first, µs an op':>25}{'step, µs an op':>16}{'memory, KB an op':>18}")
    for module in args.engines:
        for length in GROWTH:
            worker = Worker(module, "W1", args, length)
            row = worker.read(args.timeout)
            if row["event"] == "absent":
                worker.close()
                break
            if row["event"] != "ready":
                print(f"{module:20}{length:8}  {row['why'][:80]}", flush=True)
                worker.close()
                break
            step = worker.time(max(1, 20_000 // length), PARTS, args.timeout)[args.clock]
            worker.close()
            both = row["build_and_first_cpu"] if args.clock == "cpu" else row["build"] + row["first"]
            once = both / length * 1e6
            grown = (row["memory"] - row["memory_before"]) * 1024 / length
            print(f"{row['engine']:20}{length:8}{once:25.1f}{step / length * 1e6:16.2f}{grown:18.1f}", flush=True)


def imports(args):
    """W9: a cold process that imports one package, against one that imports nothing."""
    code = "import resource, {}; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    times, sizes = {}, {}
    # Where no compiled files may be kept, every import would compile its sources anew.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for number in range(args.rounds + 1):
        for name in ("sys", *IMPORTS):
            if number and name not in times:
                continue
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [sys.executable, "-c", code.format(name)], capture_output=True, text=True, cwd=HERE.parent, env=env
            )
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                continue
            cpu = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
            if number:
                times[name].append(cpu)
            else:  # the first round fills the caches
                times[name] = []
            sizes[name] = float(done.stdout)
    bare = statistics.median(times["sys"])
    numpy = statistics.median(times["numpy"]) - bare
    print(f"{'import':24}{'CPU time less bare Python':>27}{'/ numpy':>9}{'MB':>6}")
    for name in IMPORTS:
        if name in times:
            net = statistics.median(times[name]) - bare
            print(f"{name:24}{_time(net):>27}{net / numpy:9.2f}{sizes[name]:6.0f}")


def layout(args):
    """The chain of W1 with its gradient, all nodes open: placing boxes and drawing edges, best of the rounds."""
    sys.path.insert(0, str(HERE.parent))
    import models

    import tutorlib as tl
    from tutorlib.viz.graph_spec import graph_drawing
    from tutorlib.viz.layout import Box, Link, layout

    clock = time.process_time if args.clock == "cpu" else time.perf_counter
    print(f"{'nodes':>8}{'edges':>8}{'layout':>10}{'µs a node':>11}")
    for wanted in DRAWN:
        length = 4
        while True:
            d = workloads.chain(length)
            x = tl.shared(d.params["x"], name="x")
            drawing, _ = graph_drawing(models.chain(tl, {"x": x}, d), wrt=[x])
            if len(drawing.nodes) >= wanted:
                break
            length = max(length + 4, length * wanted // len(drawing.nodes) // 4 * 4)
        boxes = [Box(n["id"], 96, 44, n["kind"], n.get("grad_of") or "") for n in drawing.nodes]
        links = [Link(e["id"], e["s"], e["t"], e["kind"]) for e in drawing.edges]
        taken = []
        for _ in range(args.rounds):
            began = clock()
            layout(boxes, links)
            taken.append(clock() - began)
        best = min(taken)
        print(f"{len(boxes):8}{len(links):8}{_time(best):>10}{best / len(boxes) * 1e6:11.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(workloads.NAMES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--slot", type=float, default=0.1, help="seconds of one turn")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others keep the cores busy")
    parser.add_argument("--core", type=int, default=(os.cpu_count() or 1) - 1)
    parser.add_argument("--timeout", type=float, default=180.0)
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--imports", action="store_true")
    parser.add_argument("--layout", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="name the engines that are absent, too")
    parser.add_argument("--json", help="also write everything to this file")
    args = parser.parse_args()
    args.workloads = args.workloads.split(",")
    args.engines = args.engines.split(",")
    if args.growth:
        return growth(args)
    if args.imports:
        return imports(args)
    if args.layout:
        return layout(args)
    if REFERENCE not in args.engines:
        args.engines.insert(0, REFERENCE)
    return compare(args)


if __name__ == "__main__":
    main()
