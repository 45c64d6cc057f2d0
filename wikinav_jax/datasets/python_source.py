"""Python source files as definitions with docstrings, read by `ast`: nothing is imported or run."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

STDLIB = "stdlib"
# Folders without documentation for users: tests, vendored copies, tables, and other trees that lie
# inside the standard library's folder.
_SKIPPED_FOLDERS = frozenset(
    [
        "__pycache__", "_vendor", "dist-packages", "encodings", "ensurepip", "idlelib", "lib2to3",
        "pydoc_data", "site-packages", "test", "tests", "turtledemo",
    ]
)  # fmt: skip
_MAX_DEFAULT = 24  # characters of a default value in a signature; longer ones are "..."
# "name($self, x, /)\n--\n\n" opens the docstrings of functions written in C.
_C_SIGNATURE = re.compile(r"\A\w+(\(.*\))\n--\n+")


@dataclass(eq=False, slots=True)
class Definition:
    """A module, class or function with what its source says about it."""

    kind: Literal["module", "class", "function", "property"]
    module: str  # dotted name of the file it stands in
    path: tuple[str, ...]  # names from the module down to it; () for the module itself
    docstring: str = ""  # cleaned of its indentation; "" when there is none
    signature: str = ""  # "(a, b=1)"; "" for modules and properties
    parameters: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()  # dotted names as the source writes them
    members: dict[str, Definition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else self.module.rpartition(".")[2]

    @property
    def full_name(self) -> str:
        return ".".join((self.module, *self.path))


@dataclass(eq=False, slots=True)
class ModuleSource:
    """One file: its definitions, and where its other names come from."""

    name: str
    package: str  # what the user asked for: "stdlib", "numpy", ...
    is_package: bool  # an __init__.py
    root: Definition
    imports: dict[str, tuple[str, str | None]]  # local name: (module, name in it or None)
    reexports: frozenset[str]  # names imported as themselves: `from m import x as x`
    aliases: dict[str, str]  # local name: dotted name it was assigned from
    stars: tuple[str, ...]  # modules of `from m import *`
    exported: tuple[str, ...] | None  # __all__, when it is a plain list


def package_files(package: str) -> Iterator[tuple[str, Path]]:
    """The dotted name and the path of each source file of a package, sorted by name.

    Args:
      package: a top-level package or module, or "stdlib" for the standard library.

    Raises:
      ValueError: no such package is installed, or it has no Python source.
    """
    if package == STDLIB:
        root = Path(sysconfig.get_paths()["stdlib"])
        prefix: tuple[str, ...] = ()
    else:
        if "." in package:
            raise ValueError(f"package {package!r} has a dot: name its top-level package")
        spec = importlib.util.find_spec(package)  # imports nothing for a top-level name
        if spec is None:
            raise ValueError(
                f"package {package!r} is not installed; install it or leave it out of the packages"
            )
        if not spec.submodule_search_locations:
            if not (spec.origin or "").endswith(".py"):
                raise ValueError(f"package {package!r} has no Python source ({spec.origin})")
            yield package, Path(spec.origin or "")
            return
        root, prefix = Path(next(iter(spec.submodule_search_locations))), (package,)
    found = []
    for path in root.rglob("*.py"):
        folders = path.relative_to(root).parts[:-1]
        if _SKIPPED_FOLDERS.isdisjoint(folders) and all(map(str.isidentifier, folders)):
            last = () if path.stem == "__init__" else (path.stem,)
            if parts := (*prefix, *folders, *last):
                found.append((".".join(parts), path))
    yield from sorted(found)


def read_module(name: str, path: Path, package: str) -> ModuleSource:
    """Parses one file.

    Raises:
      OSError: the file cannot be read.
      SyntaxError, ValueError: it is not Python of this version, or has null bytes.
      RecursionError, MemoryError: it is nested too deeply for the parser.
    """
    with warnings.catch_warnings():
        # Invalid escapes and the like are the author's business.
        warnings.simplefilter("ignore")
        tree = ast.parse(path.read_bytes())
    return _Reader(name, path.name == "__init__.py").read(tree, package)


class _Reader:
    """Collects the top-level names of one module."""

    def __init__(self, name: str, is_package: bool):
        self.name = name
        self.is_package = is_package
        self.imports: dict[str, tuple[str, str | None]] = {}
        self.reexports: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.stars: list[str] = []
        self.exported: list[str] | None = None

    def read(self, tree: ast.Module, package: str) -> ModuleSource:
        root = Definition("module", self.name, (), ast.get_docstring(tree) or "")
        for node in _statements(tree.body):
            if isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                self._assign(node)
        _add_members(root, tree.body)
        return ModuleSource(
            name=self.name,
            package=package,
            is_package=self.is_package,
            root=root,
            imports=self.imports,
            reexports=frozenset(self.reexports),
            aliases=self.aliases,
            stars=tuple(self.stars),
            exported=None if self.exported is None else tuple(self.exported),
        )

    def _import_from(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            # One dot is the package itself: for __init__.py its own name, else its parent.
            parts = self.name.split(".")
            keep = len(parts) - node.level + (1 if self.is_package else 0)
            base = ".".join([*parts[: max(keep, 0)], *([base] if base else [])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(base)
                continue
            # The first one stays: what follows in an `else` or `except` is the fallback.
            self.imports.setdefault(alias.asname or alias.name, (base, alias.name))
            if alias.asname == alias.name:
                self.reexports.add(alias.name)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.imports.setdefault(alias.asname, (alias.name, None))
            else:
                top = alias.name.partition(".")[0]
                self.imports.setdefault(top, (top, None))

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if "__all__" in names:
            literal = _string_list(node.value)
            if literal is None:
                self.exported = None  # computed: the names themselves must tell
            elif isinstance(node, ast.AugAssign):
                self.exported = None if self.exported is None else [*self.exported, *literal]
            else:
                self.exported = literal
        elif isinstance(node.value, ast.Name | ast.Attribute) and (source := _dotted(node.value)):
            self.aliases.update((name, source) for name in names if name != source)


def _add_members(parent: Definition, body: list[ast.stmt]) -> None:
    """Adds the functions and classes of a body, with their members; the first of a name stays."""
    for node in _statements(body):
        if isinstance(node, ast.Expr):
            _add_documented_elsewhere(parent, node)
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        path = (*parent.path, node.name)
        docstring = ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            bases = tuple(base for base in map(_dotted, node.bases) if base)
            new = Definition("class", parent.module, path, docstring, bases=bases)
            _add_members(new, node.body)
            constructor = new.members.get("__init__")
            if constructor is not None:
                new.signature, new.parameters = constructor.signature, constructor.parameters
        else:
            is_property = any("property" in (_dotted(d) or "") for d in node.decorator_list)
            names, signature = _signature(node.args, is_method=parent.kind == "class")
            new = Definition(
                "property" if is_property else "function",
                parent.module,
                path,
                docstring,
                "" if is_property else signature,
                names,
            )
        old = parent.members.get(node.name)
        if old is None or (not old.docstring and new.docstring):
            parent.members[node.name] = new


def _add_documented_elsewhere(parent: Definition, node: ast.Expr) -> None:
    """Reads how numpy documents what is written in C: by calls with literal docstrings.

    `add_newdoc(module, name, docstring)` documents a function, `add_newdoc(module, name,
    (member, docstring))` a member of a class, and `_array_method_doc(name, parameters, docstring)`
    a method of numpy.ndarray. The definitions become members of the file with the calls, but
    their `module` is the one named; `PythonNames` puts them there.
    """
    call = node.value
    if not isinstance(call, ast.Call) or _dotted(call.func) not in (
        "add_newdoc",
        "_array_method_doc",
    ):
        return
    try:
        first, second, docs = (_literal(argument) for argument in call.args[:3])
    except ValueError:  # a variable, or too few arguments
        return
    if not (isinstance(first, str) and isinstance(second, str)):
        return
    if _dotted(call.func) == "_array_method_doc":
        place, name = "numpy._core.multiarray", "ndarray"
        docs = (first, f"{first}({second})\n--\n\n{inspect.cleandoc(docs)}")
    else:
        place, name = first, second
    owner = parent.members.setdefault(name, Definition("function", place, (name,)))
    for entry in docs if isinstance(docs, list) else [docs]:
        if isinstance(entry, str):
            owner.docstring, owner.signature = _split_c_signature(entry)
        else:
            owner.kind = "class"
            docstring, signature = _split_c_signature(entry[1])
            kind: Literal["function", "property"] = "function" if signature else "property"
            path = (name, entry[0])
            owner.members[entry[0]] = Definition(kind, place, path, docstring, signature)


def _literal(node: ast.expr) -> Any:
    """A literal's value; what an f-string would fill in is "..."; ValueError for others."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values
        )
    if isinstance(node, ast.Tuple):
        return tuple(map(_literal, node.elts))
    if isinstance(node, ast.List):
        return list(map(_literal, node.elts))
    return ast.literal_eval(node)


def _split_c_signature(text: str) -> tuple[str, str]:
    text = inspect.cleandoc(text)
    match = _C_SIGNATURE.match(text)
    if match is None:
        return text, ""
    signature = re.sub(r"\$\w+,? ?|, /(?=[,)])|(?<=\()/,? ?", "", match.group(1))
    return text[match.end() :], signature


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the if, try, with and loop bodies in it, in order."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.TryStar | ast.With | ast.For | ast.While):
            for name in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, name, []):
                    yield from _statements(inner.body if name == "handlers" else [inner])


def _dotted(node: ast.AST | None) -> str | None:
    """ "a.b.c" of a name or attribute, a subscript taken off (`Generic[T]`); None for others."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return base and f"{base}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    return None


def _string_list(node: ast.expr | None) -> list[str] | None:
    """The strings of a list or tuple literal, or None."""
    if isinstance(node, ast.List | ast.Tuple) and all(
        isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts
    ):
        return [item.value for item in node.elts]  # type: ignore[attr-defined]
    return None


def _signature(arguments: ast.arguments, is_method: bool) -> tuple[tuple[str, ...], str]:
    """Parameter names, and a signature without annotations and without self or cls."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    parts = [
        (argument.arg, _with_default(argument.arg, default))
        for argument, default in zip(positional, defaults, strict=True)
    ]
    if is_method and parts and parts[0][0] in ("self", "cls", "mcs", "metacls"):
        parts = parts[1:]
    if arguments.vararg:
        parts.append((arguments.vararg.arg, f"*{arguments.vararg.arg}"))
    elif arguments.kwonlyargs:
        parts.append(("", "*"))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append((argument.arg, _with_default(argument.arg, default)))
    if arguments.kwarg:
        parts.append((arguments.kwarg.arg, f"**{arguments.kwarg.arg}"))
    names = tuple(name for name, _ in parts if name)
    return names, f"({', '.join(text for _, text in parts)})"


def _with_default(name: str, default: ast.expr | None) -> str:
    if default is None:
        return name
    text = ast.unparse(default)
    return f"{name}={text if len(text) <= _MAX_DEFAULT else '...'}"
