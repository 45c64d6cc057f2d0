"""The outline of Python documentation to documents that link to each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from wikinav_jax.datasets.docstrings import Paragraph, Reference
from wikinav_jax.datasets.documents import Anchor, Document, Passage, Section, drop_overlaps
from wikinav_jax.datasets.python_names import PythonNames
from wikinav_jax.datasets.python_outline import Entry, Outline, Place
from wikinav_jax.datasets.python_source import STDLIB, Definition

# How these packages are imported by convention; documentation and examples write names so.
CONVENTIONS: Mapping[str, str] = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "lax": "jax.lax",
    "nn": "flax.linen",
    "nnx": "flax.nnx",
}
_MAX_OWNERS = 2  # links of a headline upwards: to the class or module, and to what holds it
_BESIDE = {
    "package": "Beside it",
    "module": "Beside it",
    "class": "In the same module",
    "function": "In the same module",
    "method": "In the same class",
    "property": "In the same class",
}
_CAPITALISED = re.compile(r"(?<![\w.])[A-Z]\w{3,}(?!\w)")
# An inner underscore, or a capital behind or between small letters: no ordinary word.
_DISTINCTIVE = re.compile(r"[^_]_+[^_]|[a-z][A-Z]|[A-Z][A-Z][a-z]")


class PythonPages:
    """Writes the documents of an outline."""

    def __init__(self, names: PythonNames, min_words: int):
        self.names = names
        self.outline = Outline(names, min_words)
        self._parameters: set[str] = set()
        self._times_used: Counter[str] = Counter()  # how many definitions have such last names
        for definition in names.walk():
            self._parameters.update(definition.parameters)
            self._times_used.update(_last_names(names.title(definition)))

    def documents(self) -> Iterator[Document]:
        """One document for each page of the outline, in the order of the source."""
        for definition in self.outline.with_page:
            yield Document(
                self.outline.title(definition),
                tuple(self._sections(definition)),
                tuple(self._aliases(definition)),
            )

    def common_words(self) -> frozenset[str]:
        """Titles that are words of the language as well ("array", "time"): no entity links."""
        titles = map(self.outline.title, self.outline.with_page)
        return frozenset(title for title in titles if not _is_distinctive(title))

    # ---- text ----

    def _sections(self, definition: Definition) -> Iterator[Section]:
        for part in self.outline.parts[definition]:
            passages = [] if part.path else [self._headline(definition)]
            for prefix, item in part.items:
                if isinstance(item, Entry):
                    written = list(self._entry(item))
                else:
                    written = [self._passage(item, definition)]
                passages += [_prefixed(prefix, written[0]), *written[1:]]
            yield Section(part.path, tuple(passages))

    def _headline(self, definition: Definition) -> Passage:
        """ "svd(a), function of numpy.linalg, numpy." with links to everything it names."""
        outline = self.outline
        kind: str = definition.kind
        if kind == "module":
            text = outline.title(definition)
            source = self.names.modules.get(definition.module)
            kind = "package" if source and source.is_package else "module"
        else:
            text = outline.label(definition)
            if kind == "function" and len(definition.path) > 1:
                kind = "method"
        if definition is outline.index:
            return Passage(f"{text}.")
        text += f", {kind} of "
        anchors = []
        for i, owner in enumerate(outline.owners(definition)[:_MAX_OWNERS]):
            text += ", " if i else ""
            anchors += self._anchor_to(owner, len(text), outline.title(owner))
            text += outline.title(owner)
        for i, base in enumerate(base for base in definition.bases if base != "object"):
            text += ", " if i else ", derived from "
            anchors += self._anchor_to(self.names.resolve(base, definition), len(text), base)
            text += base
        siblings = outline.siblings(definition)
        if siblings:
            text += f". {_BESIDE[kind]}: "
        for i, sibling in enumerate(siblings):
            text += ", " if i else ""
            anchors += self._anchor_to(sibling, len(text), outline.name(sibling))
            text += outline.name(sibling)
        return Passage(f"{text}.", tuple(anchors))

    def _entry(self, entry: Entry) -> Iterator[Passage]:
        member = entry.member
        if entry.told:
            paragraphs = [p for section in self.outline.docs[member] for p in section.paragraphs]
            first, *others = (self._passage(paragraph, member) for paragraph in paragraphs)
            yield _prefixed(f"{self.outline.label(member)} \u2014 ", first)
            yield from others
            return
        about = self.outline.summary(member)
        name = self.outline.name(member)
        text = f"{name} \u2014 {about}" if about else name
        yield Passage(text, tuple(self._anchor_to(member, 0, name)))

    def _passage(self, paragraph: Paragraph, within: Definition) -> Passage:
        anchors = [
            Anchor(reference.start, reference.end, place.title, place.fragment)
            for reference in paragraph.references
            if (place := self._place_of(reference, within)) is not None
        ]
        anchors += self._classes_named(paragraph.text, within)
        return Passage(paragraph.text, drop_overlaps(anchors))

    # ---- links ----

    def _anchor_to(self, found: Definition | None, start: int, text: str) -> list[Anchor]:
        place = self.outline.places.get(found) if found is not None else None
        return [Anchor(start, start + len(text), place.title, place.fragment)] if place else []

    def _classes_named(self, text: str, within: Definition) -> Iterator[Anchor]:
        """Prose that calls a class of the same module by its bare name."""
        if within.module not in self.names.modules:
            return
        members = self.names.modules[within.module].root.members
        for match in _CAPITALISED.finditer(text):
            found = members.get(match.group())
            if found is not None and found is not within and found.kind == "class":
                yield from self._anchor_to(found, match.start(), match.group())

    def _place_of(self, reference: Reference, within: Definition) -> Place | None:
        found = self._resolve(reference, within)
        return None if found is None or found is within else self.outline.places.get(found)

    def _resolve(self, reference: Reference, within: Definition) -> Definition | None:
        name, explicit = reference.name, reference.explicit
        if within is self.outline.index:
            return None
        if not explicit and name.partition(".")[0] in within.parameters:
            return None  # back-ticks around a parameter
        found = self.names.resolve(name, within)
        if found is not None:
            return found
        head, dot, rest = name.partition(".")
        if dot and head in CONVENTIONS:
            return self.names.find(f"{CONVENTIONS[head]}.{rest}")
        package = self.names.package(within)
        if explicit or _is_distinctive(name):
            found = self.names.by_last_names(name, package)
        if found is None and (explicit or package == STDLIB):
            found = self.names.top(name)
        return found

    def _aliases(self, definition: Definition) -> Iterator[str]:
        """Other names by which text may mention it, if they mean nothing else."""
        if definition is self.outline.index:
            return
        title = self.names.title(definition)
        names = [title, *self.names.other_names(definition)]
        for short, long in CONVENTIONS.items():
            names += [short + name[len(long) :] for name in names if name.startswith(f"{long}.")]
        names += [name for name in _last_names(title) if self._times_used[name] == 1]
        for name in dict.fromkeys(names[1:]):
            if _is_distinctive(name) and name not in self._parameters:
                yield name


def _last_names(title: str) -> list[str]:
    """ "b.c" and "c" of "a.b.c"."""
    parts = title.split(".")
    return [".".join(parts[start:]) for start in range(1, len(parts))]


def _prefixed(prefix: str, passage: Passage) -> Passage:
    if not prefix:
        return passage
    shift = len(prefix)
    anchors = (
        Anchor(a.start + shift, a.end + shift, a.target, a.fragment) for a in passage.anchors
    )
    return Passage(prefix + passage.text, tuple(anchors))


def _is_distinctive(name: str) -> bool:
    return "." in name or _DISTINCTIVE.search(name) is not None
