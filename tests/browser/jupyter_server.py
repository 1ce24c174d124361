"""Starts a Jupyter server of its own for the browser tests, with JupyterLab and Notebook 7: free port, own folders,
nothing from outside the machine."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
STARTS_WITHIN = 120.0
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # A notebook that keeps only the visible cells on the page would make the tests depend on where it is scrolled to.
    "notebook-extension/tracker": {"windowingMode": "none"},
}


@dataclass(frozen=True)
class Server:
    """A running JupyterLab that serves `folder`."""

    address: str
    token: str
    folder: Path

    def page_of(self, notebook: str) -> str:
        """The address of a notebook in JupyterLab."""
        return f"{self.address}/lab/tree/{notebook}?token={self.token}"

    def notebook_page_of(self, notebook: str) -> str:
        """The address of a notebook in Notebook 7."""
        return f"{self.address}/notebooks/{notebook}?token={self.token}"

    def request(self, path: str, method: str = "GET") -> bytes:
        """Ask the server's REST interface."""
        asked = urllib.request.Request(f"{self.address}{path}", method=method)
        asked.add_header("Authorization", f"token {self.token}")
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.read()

    def shut_kernels_down(self) -> None:
        """End every kernel."""
        for session in json.loads(self.request("/api/sessions")):
            self.request(f"/api/sessions/{session['id']}", "DELETE")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _write_settings(folder: Path, theme: str) -> None:
    settings = SETTINGS | {"apputils-extension/themes": {"theme": theme}}
    for name, value in settings.items():
        file = folder / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value), encoding="utf-8")


def _environment(work: Path) -> dict[str, str]:
    own = {
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }  # fmt: skip
    env = os.environ | {name: str(work / folder) for name, folder in own.items()}
    env |= {"TUTORLIB_DISPLAY": "live", "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return env | {"JUPYTER_NO_CONFIG": "1"}


@contextlib.contextmanager
def jupyter_lab(work: Path, *, theme: str = "JupyterLab Light") -> Iterator[Server]:
    """A JupyterLab over `work / "lessons"`, ended when the block is left."""
    folder = work / "lessons"
    folder.mkdir(parents=True, exist_ok=True)
    _write_settings(work / "settings", theme)
    port, token = _free_port(), secrets.token_hex(16)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0",
        "--LabApp.extension_manager=readonly", "--LabApp.news_url=",
        "--ServerApp.jpserver_extensions={'notebook': True}",
    ]  # fmt: skip
    with (work / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=work, env=_environment(work), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        server = Server(f"http://127.0.0.1:{port}", token, folder)
        try:
            _wait_for(server, process, work / "server.log")
            yield server
            server.shut_kernels_down()
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: Server, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError, urllib.error.URLError):
            server.request("/api/status")
            return
        time.sleep(0.2)
    raise RuntimeError("JupyterLab did not start:\n" + log.read_text(encoding="utf-8", errors="replace")[-4000:])
