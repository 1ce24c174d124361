"""The project's own files, for the tests that look at the project as a whole. No test lives here."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = set(".git .venv node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis".split())


def files() -> list[Path]:
    """Every file that git tracks or would track, relative to the root; in an unpacked sdist, every file."""
    if (ROOT / ".git").exists():
        command = ["git", "-c", f"safe.directory={ROOT}", *"ls-files -z --cached --others --exclude-standard".split()]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        names = sorted({Path(name) for name in said.split("\0") if name})
    else:
        names = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*"))
    return [name for name in names if (ROOT / name).is_file() and not NOT_OURS & set(name.parts)]


def copy_to(folder: Path) -> Path:
    """Copy those files into `folder`, as a clone would hold them; return `folder`."""
    for name in files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder


def readme_command(name: str) -> str:
    """The command line in the README's block that the comment `command: NAME` announces."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split(f"<!-- command: {name} -->\n```sh\n")[1].split("\n```")[0]
    assert block and "\n" not in block, f"the README's {name} command is not one line"
    return block
