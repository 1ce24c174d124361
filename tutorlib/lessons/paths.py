"""Where lessons lie in a checkout: the one place that knows the folder names."""

from dataclasses import dataclass
from pathlib import Path


class NoLessonsHere(FileNotFoundError):
    """Raised where there is no folder with lesson sources."""


@dataclass(frozen=True)
class LessonFolders:
    """The folders of one checkout, found from its root."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "notebooks" / "source"

    @property
    def glossary(self) -> Path:
        return self.source / "glossary.yml"

    @property
    def claims(self) -> Path:
        return self.source / "claims.yml"

    def built(self, language: str = "en") -> Path:
        return self.root / "notebooks" / language

    def notebook(self, name: str, language: str = "en") -> Path:
        """The learner notebook of the lesson with this folder name."""
        return self.built(language) / f"{name}.ipynb"

    def sources(self, wanted: list[str] | None = None) -> list[Path]:
        """The sources in lesson order; `wanted` holds ids (`"L04"`) or folder names, nothing means all.

        Raises `NoLessonsHere` naming what was asked for and is not there.
        """
        paths = sorted(self.source.glob("*/lesson.md"))
        if not paths:
            raise NoLessonsHere(f"no lesson sources in {self.source}; run this in a checkout of the project")
        if not wanted:
            return paths
        chosen = [path for path in paths if {path.parent.name, path.parent.name.split("_")[0]} & set(wanted)]
        found = {name for path in chosen for name in (path.parent.name, path.parent.name.split("_")[0])}
        if missing := [name for name in wanted if name not in found]:
            known = ", ".join(path.parent.name for path in paths)
            raise NoLessonsHere(f"no lesson {', '.join(missing)}; there are {known}")
        return chosen


def find_folders(start: Path | None = None) -> LessonFolders:
    """The lesson folders of the checkout that holds `start` (default: the current folder).

    Raises `NoLessonsHere` when no folder upwards holds `notebooks/source`.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "notebooks" / "source").is_dir():
            return LessonFolders(folder)
    raise NoLessonsHere(f"no notebooks/source folder in {here.name} or above it; run this in a checkout of the project")
