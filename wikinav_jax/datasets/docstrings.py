"""Docstrings (reStructuredText, NumPy and Google style) to sections of paragraphs with references.

No validator: docstrings come in every state. What is not understood stays as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONTROL = dict.fromkeys([*range(9), *range(11, 32), 127], " ")

# ---- headings ----
_UNDERLINE = re.compile(r"([-=~^*])\1{2,}\s*")
_GOOGLE_HEADING = re.compile(
    r"(Args|Arguments|Attributes|Caution|Examples?|Example usage|Keyword Args|Keyword Arguments|"
    r"Methods|Notes?|Parameters|Params|Raises|References|Returns?|See [Aa]lso|Tips?|Todo|Usage|"
    r"Warnings?|Warns|Yields?)\s*::?\s*"
)
# Sections in which every line at the left edge opens an item ("x : int", "name: text").
_ITEM_SECTIONS = frozenset(
    ["args", "arguments", "attributes", "keyword args", "keyword arguments", "methods",
     "other parameters", "parameters", "params", "raises", "see also", "warns"]
)  # fmt: skip
_NUMPY_ITEM_SECTIONS = _ITEM_SECTIONS | {"returns", "yields", "receives"}

# ---- lines ----
_DIRECTIVE = re.compile(r"\.\. +([\w:-]+)::\s*(.*)")
_FOOTNOTE = re.compile(r"\.\. +(\[[^\]]+\])\s+(.*)")
_FIELD = re.compile(r":(\w+)((?: +[\w*.\\]+)*):(?!`)\s*(.*)")
_OPTION = re.compile(r":[\w-]+:( .*)?")  # of a directive
_TEMPLATE = re.compile(r"%\(\w+\)s")  # filled in when the package is imported
_ITEM = re.compile(r"(?:[-*+•o]|\(?\d{1,2}[.)]|[a-z][.)])\s+(?=\S)")
_DASHED_ITEM = re.compile(r"[\w.*\"'-]+(?:\([^)]*\))?(?:, *[\w.*-]+(?:\([^)]*\))?)*\s+--?\s+(?=\S)")
_COLUMNS = re.compile(r"[^\s.,:]+(?:\([^)]*\))?\s{2,}\S")
_BORDER = re.compile(r"[-=+|~^#*_\s]{3,}")
_TERM = re.compile(r"[*\w.,\s]+(?: : .*)?")
_CODE_DIRECTIVES = frozenset(
    ["code", "code-block", "doctest", "ipython", "math", "parsed-literal", "plot", "prompt",
     "sourcecode", "testcode", "testoutput", "testsetup", "codediff"]
)  # fmt: skip
_SILENT_DIRECTIVES = frozenset(
    ["autoclass", "autofunction", "automodule", "contents", "currentmodule", "default-role",
     "highlight", "image", "index", "module", "toctree"]
)  # fmt: skip

# ---- inline ----
_INLINE = re.compile(
    r":(?P<domain>[a-z]+:)?(?P<role>[a-zA-Z-]+):`(?P<target>[^`]+)`"
    r"|(?<![\w`.])(?P<call>[A-Za-z_]\w*(?:\.\w+)*)\(\)"
    r"|``(?P<literal>.+?)``(?!`)"
    r"|(?<![\w`])`(?P<quoted>[^`\s](?:[^`]*[^`\s])?)`(?P<link>__?)?(?![\w`])"
    r"|(?<![\w*])\*\*(?P<strong>\w[^*]*?\w|\w)\*\*(?![\w*])"
    r"|(?<![\w*])\*(?P<emphasis>\w[\w'-]*(?: [\w'-]+)*)\*(?![\w*])"
)
# What a line of code calls, or names by its module; but not what it defines.
_CODE_NAME = re.compile(
    r"(?<![\w.'\"\\])(?<!def )(?<!class )[A-Za-z_]\w*(?:(?:\.[A-Za-z_]\w*)+|(?=\())"
)
_WITH_TARGET = re.compile(r"(?P<text>.*?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CODE_ROLES = frozenset(
    ["attr", "any", "class", "const", "data", "exc", "func", "meth", "mod", "obj"]
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A stretch of text that names something: `text[start:end]` names `name`."""

    start: int
    end: int
    name: str
    explicit: bool  # a role or a See Also entry, not just back-ticks


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, list item or line of code, without markup."""

    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class DocSection:
    """What stands under one heading; "" before the first."""

    heading: str
    paragraphs: tuple[Paragraph, ...]


def parse_docstring(text: str) -> list[DocSection]:
    """Splits a docstring at its headings, and its sections into paragraphs.

    Args:
      text: without common indentation, as `inspect.cleandoc` leaves it.
    """
    # A lone surrogate, possible in an escape, cannot be stored as UTF-8.
    text = text.translate(_CONTROL).encode("utf-8", "replace").decode("utf-8")
    sections = []
    for heading, lines, one_item_a_line in _split_at_headings(text.splitlines()):
        paragraphs = list(_Paragraphs(one_item_a_line).read(lines))
        if heading.lower() == "see also":
            paragraphs = [_with_entries(paragraph) for paragraph in paragraphs]
        if paragraphs:
            sections.append(DocSection(heading, tuple(paragraphs)))
    return sections


def summary(sections: list[DocSection]) -> Paragraph:
    """The first paragraph of the text before any heading; empty when there is none."""
    for section in sections:
        if not section.heading and section.paragraphs:
            return section.paragraphs[0]
    return Paragraph("")


def inline(text: str, offset: int = 0) -> tuple[str, list[Reference]]:
    """Takes inline markup off a text, and notes what it referred to.

    Returns:
      The plain text, and references whose spans are moved by `offset`.
    """
    text = " ".join(text.split())
    parts: list[str] = []
    references: list[Reference] = []
    length = offset
    end = 0
    for match in _INLINE.finditer(text):
        shown, name, explicit = _shown_and_meant(match)
        before = text[end : match.start()]
        parts += [before, shown]
        length += len(before)
        if name and shown:
            references.append(Reference(length, length + len(shown), name, explicit))
        length += len(shown)
        end = match.end()
        if text[end : end + 1] == "\\":  # `Array`\\s: the backslash only parts markup from text
            end += 2 if text[end + 1 : end + 2] == " " else 1
    parts.append(text[end:])
    return "".join(parts), references


def _shown_and_meant(match: re.Match[str]) -> tuple[str, str, bool]:
    """The text to show, the name it refers to ("" for none), and whether by a role."""
    if match["target"] is not None:
        target = match["target"]
        titled = _WITH_TARGET.fullmatch(target)
        if titled:
            shown, name = titled["text"], titled["target"]
        else:
            name = target.lstrip("~!.")
            shown = name.rpartition(".")[2] if target.startswith("~") else name
        is_code = match["role"] in _CODE_ROLES
        return shown, _name_in(name) if is_code else "", True
    if match["quoted"] is not None:
        titled = _WITH_TARGET.fullmatch(match["quoted"])
        if match["link"] and titled:
            return titled["text"] or titled["target"], "", False
        quoted = match["quoted"]
        # `~a.b` is shown as b here too: the default role of many packages is :any:.
        shown = quoted.rpartition(".")[2] if quoted.startswith("~") else quoted
        return shown, "" if match["link"] else _name_in(quoted), False
    if match["call"] is not None:
        return match.group(), match["call"], False
    if match["literal"] is not None:
        return match["literal"], _name_in(match["literal"]), False
    return match["strong"] or match["emphasis"], "", False


def _name_in(code: str) -> str:
    """The dotted name that a piece of code names or calls, or ""."""
    match = _NAME.match(code.lstrip("~!.@"))
    if match is None:
        return ""
    rest = code.lstrip("~!.@")[match.end() :]
    return match.group() if not rest or rest.startswith("(") else ""


def _with_entries(paragraph: Paragraph) -> Paragraph:
    """Adds the names in front of the colon of a NumPy See Also entry: `a, b.c : What they do`."""
    names, colon, _ = paragraph.text.partition(" : ")
    if not colon:
        names = names.partition(": ")[0].rstrip(":.")
    if paragraph.references or not re.fullmatch(
        rf"{_NAME.pattern}(?:,\s*{_NAME.pattern})*,?", names
    ):
        explicit = (Reference(r.start, r.end, r.name, True) for r in paragraph.references)
        return Paragraph(paragraph.text, tuple(explicit))
    entries = (Reference(*match.span(), match.group(), True) for match in _NAME.finditer(names))
    return Paragraph(paragraph.text, tuple(entries))


def _split_at_headings(lines: list[str]) -> Iterator[tuple[str, list[str], bool]]:
    """(heading, lines, whether each line is an item) of each section."""
    heading, items = "", False
    body: list[str] = []
    in_google_section = False
    i = 0
    while i < len(lines):
        line = lines[i]
        google = _GOOGLE_HEADING.fullmatch(line)
        if _is_underlined(lines, i):
            yield heading, body, items
            heading, body = line.strip().rstrip(":"), []
            items = heading.lower() in _NUMPY_ITEM_SECTIONS
            in_google_section = False
            i += 2
            continue
        if google and _opens_section(lines, i):
            yield heading, body, items
            heading, body = google.group(1), []
            items = heading.lower() in _ITEM_SECTIONS
            in_google_section = lines[i + 1 : i + 2] != [""] or _next_indent(lines, i) > 0
        elif in_google_section and line and not line[0].isspace():
            # Text at the left edge is not part of an indented section any more.
            yield heading, body, items
            heading, body, items = "", [line], False
            in_google_section = False
        else:
            body.append(line)
        i += 1
    yield heading, body, items


def _is_underlined(lines: list[str], i: int) -> bool:
    line = lines[i]
    if not line or line[0].isspace() or i + 1 >= len(lines) or len(line) > 70:
        return False
    under = lines[i + 1].rstrip()
    return (
        _UNDERLINE.fullmatch(under) is not None
        and abs(len(under) - len(line.rstrip())) <= max(3, len(line) // 3)
        and not _BORDER.fullmatch(line)
        and not line.startswith((">>>", "+", "|"))
        and (i == 0 or not lines[i - 1].strip() or _BORDER.fullmatch(lines[i - 1]) is not None)
    )


def _opens_section(lines: list[str], i: int) -> bool:
    """Whether what follows a line like "Args:" is its body."""
    following = next((line for line in lines[i + 1 :] if line.strip()), "")
    return following[:1].isspace() or following.startswith((">>>", "- ", "* "))


def _next_indent(lines: list[str], i: int) -> int:
    return next((_indent(line) for line in lines[i + 1 :] if line.strip()), 0)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _Paragraphs:
    """Reads the lines of one section into paragraphs."""

    def __init__(self, one_item_a_line: bool):
        self.one_item_a_line = one_item_a_line
        self.open: list[str] = []  # the lines of the paragraph being read, stripped
        self.base = 0  # indentation of its first line
        self.deeper = False  # whether it has lines indented more than that

    def read(self, lines: list[str]) -> Iterator[Paragraph]:
        left_edge = min((_indent(line) for line in lines if line.strip()), default=0)
        code_base: int | None = None  # lines indented more than this are code
        in_doctest = in_table = False
        for line in lines:
            stripped = line.strip()
            indent = _indent(line)
            if not stripped:
                in_doctest = in_table = False
                if self.open and self.open[-1].endswith("::"):
                    code_base = self.base
                yield from self._close()
                continue
            if _TEMPLATE.fullmatch(stripped):
                continue
            if code_base is not None and indent > code_base:
                if not _OPTION.fullmatch(stripped):
                    yield from _code(stripped)
                continue
            code_base = None
            if in_doctest or stripped.startswith(">>>"):
                in_doctest = True
                yield from self._close()
                is_output = not stripped.startswith((">>>", "..."))
                yield from _plain(stripped) if is_output else _code(stripped)
            elif in_table or _BORDER.fullmatch(line) or stripped.startswith("|"):
                # "====  ====" opens and closes a table; a line of one dash is a rule.
                in_table = in_table or len(stripped.split()) > 1 or stripped.startswith("+")
                yield from self._close()
                yield from _plain(" ".join(stripped.strip("|+").replace(" | ", "  ").split()))
            elif stripped.startswith(".."):
                yield from self._close()
                code_base = self._directive(stripped, indent)
            elif (field := _FIELD.match(stripped)) is not None:
                yield from self._close()
                self._open_field(field, indent)
            else:
                yield from self._text(stripped, indent, indent == left_edge)
        yield from self._close()

    def _text(self, stripped: str, indent: int, at_left_edge: bool) -> Iterator[Paragraph]:
        item = _ITEM.match(stripped) or _DASHED_ITEM.match(stripped)
        new_entry = self.one_item_a_line and at_left_edge
        back = indent < self.base or (self.deeper and indent == self.base)
        list_begins = indent > self.base and bool(self.open) and self.open[-1].endswith(":")
        # "name    What it does" under "These functions:", as the standard library has it.
        columns = bool(self.open) and _COLUMNS.match(self.open[0]) and _COLUMNS.match(stripped)
        if self.open and (item or new_entry or back or list_begins or columns):
            yield from self._close()
        if not self.open:
            self.base, self.deeper = indent, False
            bullet = _ITEM.match(stripped)
            if bullet and not bullet.group()[0].isalnum():
                stripped = stripped[bullet.end() :]
        elif indent > self.base:
            if not self.deeper and len(self.open) == 1 and _TERM.fullmatch(self.open[0]):
                # A definition list: "x : array_like", and what it means on the next line.
                self.open[0] += " \u2014" if self.one_item_a_line or " : " in self.open[0] else ""
            self.deeper = True
        self.open.append(stripped)

    def _directive(self, stripped: str, indent: int) -> int | None:
        """Opens a directive's paragraph; returns the indentation if code follows."""
        directive = _DIRECTIVE.match(stripped)
        self.base, self.deeper = indent, True
        if directive is None:
            footnote = _FOOTNOTE.match(stripped)
            if footnote:
                self.open = [f"{footnote.group(1)} {footnote.group(2)}"]
                return None
            return indent  # a link target or a comment: nothing to read
        name, argument = directive.group(1).lower(), directive.group(2)
        if name in _CODE_DIRECTIVES:
            self.open = [argument] if name == "math" and argument else []
            return indent
        if name in _SILENT_DIRECTIVES:
            return None
        if name == "seealso":
            label = "See also"
        else:
            label = name.replace("-", " ").replace("version", "version ").capitalize()
        about_a_version = "version" in name or name == "deprecated"
        self.open = [f"{label} {argument}." if about_a_version else f"{label}: {argument}".strip()]
        return None

    def _open_field(self, field: re.Match[str], indent: int) -> None:
        name, argument, text = field.group(1), field.group(2).strip(), field.group(3)
        if not (argument or name.startswith(("return", "rtype", "raise"))):
            return  # an option of a directive
        known = name in ("param", "parameter", "arg", "keyword", "type", "var", "ivar", "cvar")
        label = argument if known else f"{name.capitalize()} {argument}".strip()
        self.base, self.deeper = indent, True
        self.open = [f"{label}: {text}"]

    def _close(self) -> Iterator[Paragraph]:
        if self.open:
            text = " ".join(self.open)
            if text.endswith("::"):
                text = text[:-1]
            shown, references = inline(text)
            if shown.strip(" :"):
                yield Paragraph(shown, tuple(references))
        self.open = []
        self.base, self.deeper = 0, False


def _plain(line: str) -> Iterator[Paragraph]:
    if line and not _BORDER.fullmatch(line):
        yield Paragraph(line)


def _code(line: str) -> Iterator[Paragraph]:
    if not _BORDER.fullmatch(line):
        names = (Reference(*m.span(), m.group(), False) for m in _CODE_NAME.finditer(line))
        yield Paragraph(line, tuple(names))
