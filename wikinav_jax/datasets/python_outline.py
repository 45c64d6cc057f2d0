"""Which Python definitions get a document of their own, and what stands in its sections."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from wikinav_jax.datasets.docstrings import DocSection, Paragraph, parse_docstring, summary
from wikinav_jax.datasets.python_names import PythonNames
from wikinav_jax.datasets.python_source import STDLIB, Definition
from wikinav_jax.datasets.sentences import sentence_spans

INDEX_TITLE = "Python modules"
_MAX_SIGNATURE = 160  # characters; a longer one is cut at a comma
_MAX_SUMMARY_WORDS = 30
# A section of fewer words joins its neighbour: "Returns: the sum" is no page of its own.
_MIN_SECTION_WORDS = 30
_CHUNK_WORDS = 100  # lists of members are divided into sections of about a block
_HEADLINE_WORDS = 16
_SIBLINGS = 3


@dataclass(frozen=True)
class Place:
    """Where a definition is described: a document, and a section of it when it has not its own."""

    title: str
    fragment: str = ""


@dataclass(frozen=True)
class Entry:
    """A line of a list of members; `told` when it holds the member's whole text."""

    member: Definition
    told: bool


@dataclass
class Part:
    """A section to be: each item with the words to put in front of it."""

    path: tuple[str, ...]
    items: list[tuple[str, Paragraph | Entry]] = field(default_factory=list)
    words: int = 0

    def absorb(self, other: Part) -> None:
        """Takes another part's items in, its heading as words in front of the first."""
        heading = f"{other.path[0]}: " if other.path else ""
        prefix, item = other.items[0]
        self.items += [(heading + prefix, item), *other.items[1:]]
        self.words += other.words + len(other.path)


class Outline:
    """The plan of all documents.

    Every public module with any text gets a document; so does a class or function whose text has
    at least `min_words` words. Others are told in full in the list of their class or module. One
    more document, "Python modules", lists the top-level modules.
    """

    def __init__(self, names: PythonNames, min_words: int):
        self.names = names
        self.index = Definition("module", INDEX_TITLE, ())
        self.docs: dict[Definition, list[DocSection]] = {}  # public definitions only
        for definition in names.walk():
            if names.is_public(definition):
                self.docs[definition] = parse_docstring(definition.docstring)
        # Modules that say something, or hold something that does.
        self._with_documented_parts = {
            prefix
            for definition, sections in self.docs.items()
            if sections
            for prefix in itertools.accumulate(names.title(definition).split("."), "{}.{}".format)
        }
        members = {definition: self._members_of(definition) for definition in self.docs}
        with_page = [
            definition
            for definition in self.docs
            if self._deserves_page(definition, members[definition], min_words)
        ]
        self.index_entries = [d for d in with_page if d.kind == "module" and "." not in d.module]
        self.docs[self.index] = parse_docstring(
            "The modules of the standard library, and the packages installed beside it."
        )
        members[self.index] = self.index_entries
        self.with_page = [self.index, *with_page]
        self.places = {definition: Place(self.title(definition)) for definition in self.with_page}
        self._families = self._find_families()
        self.parts: dict[Definition, list[Part]] = {}
        for definition in self.with_page:
            self.parts[definition] = self._plan(definition, members[definition])
        for definition, parts in self.parts.items():
            for part in parts:
                fragment = part.path[-1] if part.path else ""
                for _, item in part.items:
                    if isinstance(item, Entry) and item.told:
                        place = Place(self.title(definition), fragment)
                        self.places.setdefault(item.member, place)

    def title(self, definition: Definition) -> str:
        return INDEX_TITLE if definition is self.index else self.names.title(definition)

    def name(self, definition: Definition) -> str:
        """The last part of its title: the name it is known by, whatever its source calls it."""
        return self.title(definition).rpartition(".")[2]

    def owners(self, definition: Definition) -> list[Definition]:
        """The class, modules and packages around it by its title, the nearest first."""
        if definition is self.index:
            return []
        owners = []
        prefix = self.title(definition).rpartition(".")[0]
        while prefix:
            owner = self.names.find(prefix)
            if owner is not None:
                owners.append(owner)
            prefix = prefix.rpartition(".")[0]
        return owners or [self.index]

    def siblings(self, definition: Definition) -> list[Definition]:
        """Up to `_SIBLINGS` pages before and after it among those of its owner and its kind.

        In the order of the source, which keeps together what belongs together.
        """
        family, position = self._families[definition]
        around = family[max(0, position - _SIBLINGS) : position + _SIBLINGS + 1]
        return [sibling for sibling in around if sibling is not definition]

    def label(self, definition: Definition) -> str:
        """Its name and parameters."""
        return self.name(definition) + _shortened(definition.signature)

    def summary(self, definition: Definition) -> str:
        """The first sentence of its docstring; "" when there is none."""
        return _first_sentence(summary(self.docs[definition]).text)

    def _find_families(self) -> dict[Definition, tuple[list[Definition], int]]:
        """For each page the pages that share its owner and heading, and its place among them."""
        families: dict[tuple[Definition | None, str], list[Definition]] = {}
        places = {}
        for definition in self.with_page:
            owner = next(iter(self.owners(definition)), None)
            heading = self._heading(definition, owner) if owner else ""
            family = families.setdefault((owner, heading), [])
            places[definition] = (family, len(family))
            family.append(definition)
        return places

    def _members_of(self, definition: Definition) -> list[Definition]:
        if definition.kind == "module":
            module = definition.module
            inside = [
                member
                for member in self.names.members(module)
                # Not what it merely re-exports: numpy.matlib offers all of numpy.
                if self.names.title(member).rpartition(".")[0] == module
                or f"{member.module}.".startswith(f"{module}.")
            ]
            members = [*self.names.submodules(module), *inside]
        else:
            members = list(definition.members.values())
        return [member for member in members if member in self.docs]

    def _deserves_page(
        self, definition: Definition, members: list[Definition], min_words: int
    ) -> bool:
        if definition.kind == "module":
            return self.names.title(definition) in self._with_documented_parts
        words = sum(len(d.docstring.split()) for d in (definition, *members) if self.docs[d])
        return words >= max(min_words, 1)

    def _plan(self, definition: Definition, members: list[Definition]) -> list[Part]:
        lead = Part((), words=_HEADLINE_WORDS)
        candidates = []
        for section in self.docs[definition]:
            part = Part((section.heading,) if section.heading else ())
            part.items = [("", paragraph) for paragraph in section.paragraphs]
            part.words = sum(len(paragraph.text.split()) for paragraph in section.paragraphs)
            candidates.append(part)
        candidates += self._lists(definition, members)
        parts = [lead]
        for part in candidates:
            if not part.path or part.words < _MIN_SECTION_WORDS or lead.words < _MIN_SECTION_WORDS:
                parts[-1].absorb(part)
            else:
                parts.append(part)
        return parts

    def _lists(self, definition: Definition, members: list[Definition]) -> Iterator[Part]:
        by_heading: dict[str, list[Definition]] = {}
        for member in members:
            by_heading.setdefault(self._heading(member, definition), []).append(member)
        for heading in sorted(by_heading):
            entries = []
            for member in sorted(
                by_heading[heading], key=lambda member: self.name(member).casefold()
            ):
                if member in self.places:
                    words = len(self.summary(member).split()) + 2
                    entries.append((Entry(member, told=False), words))
                elif self.docs[member] and definition in self.owners(member)[:1]:
                    words = len(member.docstring.split()) + len(self.label(member).split()) + 1
                    entries.append((Entry(member, told=True), words))
            yield from self._chunks(heading, entries)

    def _chunks(self, heading: str, entries: list[tuple[Entry, int]]) -> Iterator[Part]:
        """Divides a list into parts of about a block, named by their first and last member."""
        parts: list[Part] = []
        for entry, words in entries:
            if not parts or parts[-1].words + words > _CHUNK_WORDS:
                parts.append(Part((heading,)))
            parts[-1].items.append(("", entry))
            parts[-1].words += words
        for part in parts:
            if len(parts) > 1:
                ends = [self.name(item.member) for _, item in part.items if isinstance(item, Entry)]
                span = ends[0] if len(ends) == 1 else f"{ends[0]} \u2013 {ends[-1]}"
                part.path = (heading, span)
            yield part

    def _heading(self, member: Definition, owner: Definition) -> str:
        """The heading under which a member is listed."""
        if owner is self.index:
            return "Standard library" if self.names.package(member) == STDLIB else "Packages"
        if member.kind == "module":
            return "Modules"
        if member.kind == "class":
            return "Classes"
        return "Functions" if owner.kind == "module" else "Methods"


def _shortened(signature: str) -> str:
    if len(signature) <= _MAX_SIGNATURE:
        return signature
    cut = signature.rfind(",", 0, _MAX_SIGNATURE)
    return signature[: cut if cut > 0 else _MAX_SIGNATURE] + ", ...)"


def _first_sentence(text: str) -> str:
    spans = sentence_spans(text)
    if not spans:
        return ""
    words = text[spans[0][0] : spans[0][1]].split()
    cut = " ..." if len(words) > _MAX_SUMMARY_WORDS else ""
    return " ".join(words[:_MAX_SUMMARY_WORDS]) + cut
