"""Starts a worker with little of this process's surroundings, asks it questions with a time limit, ends all of it.

What is asked is in `run_one.py`, what runs on the other side in `worker.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import tutorlib
from tutorlib.lessons.execute import SETTINGS

LONGEST_ANSWER = 8_000_000
START_SECONDS = 120.0
OWN_NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
INHERITED = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Limits:
    """What the processes of one submission may use: seconds a cell, bytes of memory, seconds of CPU, bytes a file."""

    cell_seconds: float = 20.0
    memory: int = 2 << 30
    file_size: int = 16 << 20
    processes: int = 64

    def as_job(self, cells: int) -> dict[str, Any]:
        return {**asdict(self), "cpu_seconds": int(60 + 2 * self.cell_seconds * cells)}


class Stopped(Exception):
    """The worker gave no answer: it was too slow (`"timeout"`) or has ended (`"died"`)."""

    def __init__(self, why: Literal["timeout", "died"]):
        super().__init__(why)
        self.why = why


class Worker:
    """A process for one submission, with a home and a working folder of its own that are gone afterwards.

    Use it as a context: at its end the whole process group is killed. `wrap` is a command to run it under, such as
    `sandbox()`.
    """

    def __init__(self, lesson: str, limits: Limits, cells: int, wrap: Sequence[str] = (), cache: Path | None = None):
        self.limits = limits
        self.forged = 0
        self._folder = Path(tempfile.mkdtemp(prefix="tutorlib-grade-"))
        command = [*wrap, sys.executable, "-P", "-s", "-m", "tutorlib.lessons.grading.worker"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                env=surroundings(self._folder, cache),
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        # Short, so that a worker which writes without end fills a pipe and not this process.
        self._answers: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._closed = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._job = {"lesson": lesson, "limits": limits.as_job(cells)}

    def __enter__(self) -> Worker:
        try:
            self._write(self._job)
            self._next_answer("ready", True, START_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def ask(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The worker's answer to one question; raises `Stopped`, after which the worker is of no more use."""
        mark = secrets.token_hex(16)
        self._write({**question, "mark": mark})
        return self._next_answer("mark", mark, seconds)

    def close(self) -> None:
        """End the worker and whatever it started, and remove its folder."""
        self._closed = True
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, data: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(data).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Stopped("died") from None

    def _read(self) -> None:
        """Put what the worker writes into the queue, line by line; None at its end."""
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(LONGEST_ANSWER):
                self._put(line)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        while not self._closed:
            with contextlib.suppress(queue.Full):
                self._answers.put(line, timeout=0.5)
                return

    def _next_answer(self, name: str, value: Any, seconds: float) -> dict[str, Any]:
        """The next line that carries this value; lines without it were not written by the worker."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._answers.get(timeout=max(deadline - time.monotonic(), 0.001))
            except queue.Empty:
                raise Stopped("timeout") from None
            if line is None:
                raise Stopped("died")
            with contextlib.suppress(ValueError):
                data = json.loads(line)
                if isinstance(data, dict) and data.get(name) == value:
                    return data
            self.forged += 1
            if time.monotonic() > deadline:
                raise Stopped("timeout")


@cache
def sandbox() -> tuple[str, ...]:
    """A command that gives a worker its own process numbers and no network; empty where the system has none.

    With it a worker can neither end the grader nor leave a process behind. It needs Linux with user namespaces.
    """
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        tried = subprocess.run([*OWN_NAMESPACES, sys.executable, "-c", ""], capture_output=True, timeout=30)
        if tried.returncode == 0:
            return OWN_NAMESPACES
    return ()


def surroundings(folder: Path, cache: Path | None) -> dict[str, str]:
    """The environment of a worker: nothing of the teacher's but where programs are."""
    package_root = str(Path(tutorlib.__file__).parents[1])
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    own = {"HOME": str(folder), "TMPDIR": str(folder), "IPYTHONDIR": str(folder / "ipython")}
    plots = {"MPLCONFIGDIR": str(cache)} if cache else {}
    return {**inherited, **SETTINGS, **own, **plots, "PYTHONPATH": package_root, "PYTHONUTF8": "1"}
