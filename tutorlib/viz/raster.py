"""SVG to PNG by a browser that is installed anyway: Chrome, Chromium or Edge, without a window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tutorlib.messages import message

__all__ = ["find_browser", "to_png"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
PATIENCE = 120


def find_browser() -> str | None:
    """The path of a browser that can draw, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None) or next(
        (place for place in PLACES if Path(place).is_file()), None
    )


def to_png(svg: str, scale: float = 2.0) -> bytes:
    """The picture as PNG, `scale` pixels for each of its own. Raises RuntimeError where no browser can draw it."""
    browser = find_browser()
    if browser is None:
        raise RuntimeError(message("widgets.error_no_rasteriser"))
    size = [re.search(rf'{side}="([\d.]+)"', svg) for side in ("width", "height")]
    width, height = (round(float(found[1])) + 1 if found else 800 for found in size)
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder) / "page.html", Path(folder) / "picture.png"
        page.write_text(f'<meta charset="utf-8"><body style="margin:0">{svg}', encoding="utf-8")
        command = [
            browser, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-quic",
            "--disable-background-networking", f"--user-data-dir={folder}/profile",
            f"--force-device-scale-factor={scale:g}", f"--window-size={width},{height}",
            "--default-background-color=00000000", f"--screenshot={picture}", page.as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        if not picture.is_file():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(message("widgets.error_rasteriser", browser=browser, said=said[-1] if said else "–"))
        return picture.read_bytes()
