"""Which definition a Python name means, and under which public name a definition is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from wikinav_jax.datasets.python_source import Definition, ModuleSource


class PythonNames:
    """Follows imports, star imports and re-exports through parsed modules, as Python would."""

    def __init__(self, modules: Iterable[ModuleSource]):
        self.modules = {module.name: module for module in modules}
        self._children: dict[str, list[str]] = defaultdict(list)
        for name in self.modules:
            parent, _, child = name.rpartition(".")
            self._children[parent].append(child)
        self._move_documented_elsewhere()
        self._found: dict[tuple[str, str], Definition | None] = {}
        self._public: dict[Definition, list[str]] = defaultdict(list)
        self._title: dict[Definition, str] = {}
        self._collect_public_names()
        self.by_name: dict[str, Definition] = {}  # every name, public or not, that means one thing
        self._by_last_names: dict[tuple[str, str], Definition | None] = {}
        self._index_names()

    def title(self, definition: Definition) -> str:
        """The shortest public name, or the full name of what has none.

        What a class or module holds is known by its owner's title.
        """
        return self._title[definition]

    def other_names(self, definition: Definition) -> list[str]:
        """The other public names, and the full name; sorted."""
        names = {*self._public[definition], definition.full_name}
        return sorted(names - {self._title[definition]})

    def is_public(self, definition: Definition) -> bool:
        """Whether no part of its title begins with an underscore."""
        return not _is_private(self._title[definition])

    def package(self, definition: Definition) -> str:
        """The package the user asked for that it belongs to."""
        return self.modules[definition.module].package

    def submodules(self, module: str) -> list[Definition]:
        """The modules directly inside a package."""
        children = sorted(self._children.get(module, []))
        return [self.modules[f"{module}.{child}"].root for child in children]

    def members(self, module: str) -> list[Definition]:
        """The functions and classes that a module offers, its own first and in their order."""
        own = self.modules[module].root.members.values()
        found = dict.fromkeys(own)
        for name in self._exported(module):
            definition = self.member(module, name)
            if definition is not None and definition.kind != "module":
                found.setdefault(definition)
        return list(found)

    def member(self, module: str, name: str) -> Definition | None:
        """What `module.name` means; None when no parsed source says."""
        return self._member(module, name, frozenset())

    def resolve(self, dotted: str, within: Definition) -> Definition | None:
        """What a dotted name means where `within` stands: its class, its module, its packages."""
        definition = self._lookup(within, dotted)
        if definition is not None:
            return definition
        # Docstrings write names as seen from the package: `linalg.svd`, `ndarray.sum`.
        for title in (self._title[within], within.full_name):
            prefix = title
            while prefix:
                definition = self.by_name.get(f"{prefix}.{dotted}")
                if definition is not None:
                    return definition
                prefix = prefix.rpartition(".")[0]
        return self.find(dotted) if "." in dotted else None

    def find(self, dotted: str) -> Definition | None:
        """What a full name means, by any path through the modules' names."""
        head, *rest = dotted.split(".")
        return self.by_name.get(dotted) or self._descend(self.top(head), rest)

    def by_last_names(self, dotted: str, package: str) -> Definition | None:
        """The only definition of a package whose name ends so; None if there is none or many."""
        return self._by_last_names.get((package, dotted))

    def top(self, name: str) -> Definition | None:
        """The top-level module of this name."""
        module = self.modules.get(name)
        return module.root if module else None

    def _lookup(self, within: Definition, dotted: str) -> Definition | None:
        head, *rest = dotted.split(".")
        for depth in range(len(within.path), -1, -1):
            owner = self._descend(self.modules[within.module].root, within.path[:depth])
            found = owner and self._child(owner, head)
            if found is not None:
                return self._descend(found, rest)
        return None

    def _descend(self, definition: Definition | None, names: Iterable[str]) -> Definition | None:
        for name in names:
            if definition is None:
                return None
            definition = self._child(definition, name)
        return definition

    def _child(self, definition: Definition, name: str) -> Definition | None:
        if definition.kind == "module":
            return self.member(definition.module, name)
        return definition.members.get(name)

    def _member(
        self, module: str, name: str, visited: frozenset[tuple[str, str]]
    ) -> Definition | None:
        key = (module, name)
        if key in self._found:
            return self._found[key]
        source = self.modules.get(module)
        if source is None or key in visited:  # not parsed, or an import in a circle
            return None
        visited |= {key}
        found = source.root.members.get(name)
        if found is None and name in source.imports:
            origin, attribute = source.imports[name]
            if attribute is None:
                found = self.top(origin)
            else:
                submodule = self.top(f"{origin}.{attribute}")
                found = self._member(origin, attribute, visited) or submodule
        if found is None and name in source.aliases:
            head, *rest = source.aliases[name].split(".")
            found = self._descend(self._member(module, head, visited), rest)
        if found is None:
            found = self.top(f"{module}.{name}")
        for star in source.stars if found is None else ():
            found = self._member(star, name, visited)
            if found is not None:
                break
        if found is None and name in (source.exported or ()):
            found = self._in_submodules(module, name)
        if not visited - {key}:  # a whole answer; inside a circle it may be a partial one
            self._found[key] = found
        return found

    def _in_submodules(self, module: str, name: str) -> Definition | None:
        """What a lazy `__getattr__` would import: the only submodule's definition of the name."""
        offered = [
            child.members[name] for child in self.submodules(module) if name in child.members
        ]
        return offered[0] if len(offered) == 1 else None

    def _exported(self, module: str, visited: frozenset[str] = frozenset()) -> list[str]:
        """The public names of a module: `__all__`, or those without an underscore.

        Without `__all__`, imported names count in packages (an `__init__.py` gathers them) and
        where they are marked by `import x as x`.
        """
        source = self.modules.get(module)
        if source is None or module in visited:
            return []
        if source.exported is not None:
            return list(source.exported)
        names = [*source.root.members, *source.aliases]
        names += source.imports if source.is_package else sorted(source.reexports)
        for star in source.stars:
            names += self._exported(star, visited | {module})
        return [name for name in dict.fromkeys(names) if not name.startswith("_")]

    def _move_documented_elsewhere(self) -> None:
        """Puts definitions that stand in one file but belong to another where they belong."""
        for module in list(self.modules.values()):
            members = module.root.members
            for name in [name for name, d in members.items() if d.module != module.name]:
                definition = members.pop(name)
                home = self.modules.get(definition.module)
                if home is not None:
                    home.root.members.setdefault(name, definition)

    def _collect_public_names(self) -> None:
        for module in self.modules.values():
            self._title[module.root] = module.name
        for module in self.modules.values():
            if _is_private(module.name):
                continue
            for name in self._exported(module.name):
                definition = self.member(module.name, name)
                if definition is None:
                    continue
                # flax.linen.relu is a name of jax.nn.relu; `Mapping = OrderedDict` is none.
                if self.package(definition) == module.package or definition.name == name:
                    self._public[definition].append(f"{module.name}.{name}")
        for module in self.modules.values():
            for alias in self._public[module.root]:  # os.path is posixpath: os.path.join
                for name in self._exported(module.name):
                    if (definition := self.member(module.name, name)) is not None:
                        self._public[definition].append(f"{alias}.{name}")
        for module in self.modules.values():
            for definition in module.root.members.values():
                self._name(definition, self._best_name(definition))

    def _best_name(self, definition: Definition) -> str:
        own_module, package = definition.module, self.package(definition)
        own_is_public = not _is_private(own_module)

        def rank(name: str) -> tuple[bool, bool, bool, int, int, str]:
            place = name.rpartition(".")[0]
            home = self.modules.get(place)
            foreign = home is None or home.package != package
            # A public module's own name yields only to a package around it: json.decoder to json.
            elsewhere = own_is_public and not f"{own_module}.".startswith(f"{place}.")
            return (foreign, _is_private(name), elsewhere, name.count("."), len(name), name)

        # A function may be called like the module it stands in: then the module keeps the name.
        names = {*self._public[definition], definition.full_name} - self.modules.keys()
        return min(names or {definition.full_name}, key=rank)

    def _name(self, definition: Definition, title: str) -> None:
        self._title[definition] = title
        for member in definition.members.values():
            for owner in (*self._public[definition], definition.full_name):
                self._public[member].append(f"{owner}.{member.name}")
            self._name(member, f"{title}.{member.name}")

    def _index_names(self) -> None:
        for definition, title in self._title.items():
            self.by_name.setdefault(title, definition)
        for definition in self._title:
            for name in self.other_names(definition):
                self.by_name.setdefault(name, definition)
        for definition, title in self._title.items():
            package = self.package(definition)
            parts = title.split(".")
            for start in range(1, len(parts)):
                key = (package, ".".join(parts[start:]))
                known = self._by_last_names.setdefault(key, definition)
                if known is not definition:
                    self._by_last_names[key] = None

    def walk(self) -> Iterator[Definition]:
        """Every definition: modules by name, in each its members in the order of the source."""
        for name in sorted(self.modules):
            yield from _walk(self.modules[name].root)


def _walk(definition: Definition) -> Iterator[Definition]:
    yield definition
    for member in definition.members.values():
        yield from _walk(member)


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))
