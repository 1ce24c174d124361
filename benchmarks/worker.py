"""One engine and one workload in a process of their own, driven by ``run.py`` through lines of JSON.

It says ``ready`` (with build time, time of the first call, losses and parameter norms after four steps, memory), then
answers each line {"n": steps, "parts": parts} with the time of a step in the best part, until its input ends.
"""

import importlib
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
warnings.filterwarnings("ignore")
# What libraries print must not get between the lines.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**values):
    print(json.dumps(values), file=answers, flush=True)


def memory():
    """The largest resident memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def start(module, workload, length):
    import numpy as np
    import workloads

    engine = importlib.import_module(f"adapters.{module}")
    d = workloads.chain(length) if length else workloads.make(workload)
    before = memory()
    cpu, began = time.process_time(), time.perf_counter()
    built = engine.build(d)
    if built is None:
        say(event="absent", why="this engine does not do this workload")
        return None
    step, get = built
    build, build_cpu = time.perf_counter() - began, time.process_time() - cpu
    cpu, began = time.process_time(), time.perf_counter()
    losses = [float(step())]
    first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
    if not length:
        losses += [float(step()) for _ in range(3)]
    norms = {k: float(np.abs(np.asarray(v, np.float64)).sum()) for k, v in get().items()}
    step()
    say(
        event="ready",
        engine=engine.NAME,
        version=engine.version(),
        build=build,
        first=first,
        build_and_first_cpu=build_cpu + first_cpu,
        losses=losses,
        norms=norms,
        memory=memory(),
        memory_before=before,
    )
    return step


def main(module, workload, length):
    try:
        step = start(module, workload, length)
    except ImportError as error:
        return say(event="absent", why=f"not installed ({error.name})")
    except Exception as error:
        return say(event="failed", why=f"{type(error).__name__}: {error}"[:300])
    if step is None:
        return None
    for line in sys.stdin:
        order = json.loads(line)
        best = best_cpu = float("inf")
        for _ in range(order["parts"]):
            cpu, began = time.process_time(), time.perf_counter()
            for _ in range(order["n"]):
                step()
            best = min(best, (time.perf_counter() - began) / order["n"])
            best_cpu = min(best_cpu, (time.process_time() - cpu) / order["n"])
        say(event="timed", wall=best, cpu=best_cpu)
    return None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
