"""The house stands: files import only from lower floors or their own folder, without cycles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "wikinav_jax"

# Lower floors first. Folders of one floor do not import each other.
FLOORS = (
    ("common",),
    ("graph", "training", "reports"),
    ("datasets", "text"),
    ("search",),
    ("navigation", "debate", "grounding"),
    ("evidence",),
    ("main",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
WITHOUT_JAX = ("common", "graph", "datasets", "reports")
JAX_FAMILY = ("jax", "flax", "optax", "orbax", "chex")


def imported_modules(source: str, module: str) -> set[str]:
    """Every absolute module name imported anywhere in `source`, the source of `module`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = module.split(".")[: -node.level]
                base = ".".join([*parent, base] if base else parent)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def modules() -> dict[str, str]:
    """Module name -> source, of every file in the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("wikinav_jax", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts)] = path.read_text(encoding="utf-8")
    return found


def room_of(module: str) -> str | None:
    """The room of a dotted name inside the package; None for the package itself or others."""
    parts = module.split(".")
    return parts[1] if parts[0] == "wikinav_jax" and len(parts) > 1 else None


def wrong_arrows(sources: dict[str, str]) -> list[str]:
    """One line per import that goes up or sideways."""
    problems = []
    for module, source in sources.items():
        room = room_of(module)
        if room in (None, "__init__"):
            continue
        for name in sorted(imported_modules(source, module)):
            other = room_of(name)
            if other is None or other == room or other.startswith("__"):
                continue
            if FLOOR_OF[other] >= FLOOR_OF[room]:
                problems.append(f"{module} imports {name}")
            if room in WITHOUT_JAX and name.split(".")[0] in JAX_FAMILY:
                problems.append(f"{module} imports {name}")
    return problems


def test_arrows_point_down():
    assert wrong_arrows(modules()) == []


@pytest.mark.parametrize("room", WITHOUT_JAX)
def test_rooms_without_jax_import_none(room):
    for module, source in modules().items():
        if room_of(module) == room:
            families = {name.split(".")[0] for name in imported_modules(source, module)}
            assert not families & set(JAX_FAMILY), module


def test_building_imports_no_source():
    sources = ("mediawiki", "sources", "tfds")
    for module, source in modules().items():
        if module.startswith("wikinav_jax.datasets.building"):
            for name in imported_modules(source, module):
                assert name.split(".")[2:3] not in [[folder] for folder in sources], module


def test_no_cycles_between_files():
    sources = modules()
    edges = {
        module: {
            name for name in imported_modules(source, module) if name in sources and name != module
        }
        for module, source in sources.items()
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail, module])
        if module not in done:
            for name in sorted(edges[module]):
                visit(name, (*trail, module))
            done.add(module)

    for module in edges:
        visit(module, ())


def test_wrong_arrows_are_found():
    sources = {
        "wikinav_jax.graph.bad": "from wikinav_jax.text import bert",
        "wikinav_jax.text.bad": "def f():\n    from ..datasets import catalog",
        "wikinav_jax.text.good": "from ..graph import store\nimport wikinav_jax.common.files",
    }
    assert wrong_arrows(sources) == [
        "wikinav_jax.graph.bad imports wikinav_jax.text",
        "wikinav_jax.graph.bad imports wikinav_jax.text.bert",
        "wikinav_jax.text.bad imports wikinav_jax.datasets",
        "wikinav_jax.text.bad imports wikinav_jax.datasets.catalog",
    ]


def test_every_room_has_a_floor():
    rooms = {room_of(module) for module in modules()} - {None, "__init__"}
    assert rooms <= set(FLOOR_OF)
