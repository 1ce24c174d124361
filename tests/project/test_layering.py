"""Imports inside the package go downwards only, and modules form no cycle."""

import ast
from pathlib import Path

import pytest

from tests.project.tree import ROOT

PACKAGE = ROOT / "tutorlib"
# From the bottom up; those on one line do not import one another.
LAYERS = [
    {"messages"},
    {"core"},
    {"ops"},
    {"compile"},
    {"tools"},
    {"nn", "optim", "data", "train"},
    {"parallel", "tune", "interop", "theano"},
    {"viz"},
    {"lessons"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# `import tutorlib` loads the engine, so only what lies above the engine may say it.
FACADE_RANK = RANK["tools"]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_modules(name: str, statements: list[ast.stmt]) -> set[str]:
    """The modules of the package that these import statements of module `name` name."""
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for statement in statements:
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names if alias.name.split(".")[0] == "tutorlib"}
        elif isinstance(statement, ast.ImportFrom):
            base = statement.module or ""
            if statement.level:
                above = package.split(".")[: len(package.split(".")) - statement.level + 1]
                base = ".".join([*above, base] if base else above)
            if base.split(".")[0] == "tutorlib":
                full = {f"{base}.{alias.name}" for alias in statement.names}
                found |= {one if one in MODULES else base for one in full}
    return found


def every_import(name: str) -> set[str]:
    """What a module imports anywhere, functions and type-checking blocks included."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    return imported_modules(name, [node for node in ast.walk(tree) if isinstance(node, ast.stmt)])


def imports_on_loading(name: str) -> set[str]:
    """What a module imports as it loads: at the top level, type-checking blocks left out."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    return imported_modules(name, tree.body)


def layer(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


@pytest.mark.parametrize("name", sorted({layer(module) for module in MODULES} - {None}))
def test_package_has_a_place_among_the_layers(name):
    assert name in RANK


@pytest.mark.parametrize("module", [module for module in MODULES if module != "tutorlib"])
def test_imports_go_downwards_only(module):
    own = layer(module)
    for imported in sorted(every_import(module)):
        other = layer(imported)
        if other == own:
            continue
        above = FACADE_RANK if other is None else RANK[other]
        assert above < RANK[own], f"{module} imports {imported}, which lies above or beside it"


def test_modules_form_no_cycle():
    done: set[str] = set()
    for start in MODULES:
        path, pending = [], [(start, False)]
        while pending:
            module, leaving = pending.pop()
            if leaving:
                path.pop()
                done.add(module)
                continue
            assert module not in path, " -> ".join([*path[path.index(module) :], module])
            if module in done or module not in MODULES:
                continue
            path.append(module)
            pending.append((module, True))
            pending += [(one, False) for one in sorted(imports_on_loading(module)) if one != module]
