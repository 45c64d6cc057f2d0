"""The few templates whose arguments are running text; all others are dropped.

Names are compared without case, with spaces for underscores. What is expanded:

- the argument itself: templates of appearance (nowrap, small, abbr, sup, math, …), of numbers and
  names (val, nts, nihongo) and of quotations (quote, blockquote, cquote, zitat, …);
- foreign words: lang (its second argument), lang-xx (its first), transl (its last), linktext;
- quantities: formatnum, convert and cvt (value and unit as given, not the converted ones), frac,
  circa, as of, unité, and the French date;
- signs: !, =, ', 's, ndash, mdash, snd, nbsp, okina, ·, •;
- links to articles that only another language has (ill, lien, нп5, 仮リンク): such a link;
- words of the parser: PAGENAME, lc, uc, lcfirst, ucfirst.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Arguments = dict[str, str]

_PIPES = re.compile(r"\[\[|\]\]|\|")
_NAMED = re.compile(r"\s*([^\s=<>\[\]{}'][^=<>\[\]{}']{0,40})=")
_NAME = re.compile(r"[^|\n:<>\[\]{}]*:?")
_PLAIN_LANGUAGE = re.compile(r"lang-[a-z-]{2,12}$")


def template_name(head: str) -> str:
    """The name that a template's source starts with; `head` may be cut off after it."""
    head = head.lstrip()
    match = _NAME.match(head)
    name = match[0] if match else ""
    if name.endswith(":"):
        word = name[:-1].strip().lower()
        if word in _FUNCTIONS:
            return word + ":"
        return ""  # {{:Page}}, {{Wikipedia:Page}}, {{#invoke:…}}: transclusions
    return name.replace("_", " ").strip().lower()


def is_expanded(name: str) -> bool:
    """Whether `expand` knows the template."""
    return (
        name in _TEMPLATES
        or name.endswith(":")
        or (name.startswith("lang-") and _PLAIN_LANGUAGE.match(name) is not None)
    )


def expand(name: str, content: str, title: str) -> str:
    """The wikitext that a template stands for.

    Args:
      name: as `template_name` gives it, known to `is_expanded`.
      content: what stands between its braces.
      title: of the page.
    """
    if name.endswith(":"):
        return _FUNCTIONS[name[:-1]](content.partition(":")[2].partition("|")[0].strip())
    if name == "pagename":
        return title
    arguments = split_arguments(content)
    function = _TEMPLATES.get(name, _first)
    return function(arguments)


def split_arguments(content: str) -> Arguments:
    """Arguments by name; those without a name are called "1", "2", …. Pipes in links don't part."""
    if "[[" not in content:
        parts = content.split("|")
    else:
        parts, start, depth = [], 0, 0
        for match in _PIPES.finditer(content):
            if match[0] == "[[":
                depth += 1
            elif match[0] == "]]":
                depth = max(0, depth - 1)
            elif depth == 0:
                parts.append(content[start : match.start()])
                start = match.end()
        parts.append(content[start:])
    arguments: Arguments = {}
    number = 0
    for part in parts[1:]:
        named = _NAMED.match(part)
        if named:
            arguments[named[1].strip()] = part[named.end() :].strip()
        else:
            number += 1
            arguments.setdefault(str(number), part)
    return arguments


def _first(arguments: Arguments) -> str:
    return arguments.get("1", "").strip("\n")


def _text(arguments: Arguments) -> str:
    return arguments.get("text") or arguments.get("quote") or arguments.get("content") or ""


def _second(arguments: Arguments) -> str:
    return arguments.get("2", "") or arguments.get("text", "")


def _positional(arguments: Arguments) -> list[str]:
    values: list[str] = []
    while (value := arguments.get(str(len(values) + 1))) is not None:
        values.append(value.strip())
    return values


def _last(arguments: Arguments) -> str:
    values = _positional(arguments)
    return values[-1] if values else ""


def _quotation(arguments: Arguments) -> str:
    return f"\n\n{arguments.get('1') or _text(arguments)}\n\n"


def _convert(arguments: Arguments) -> str:
    values = _positional(arguments)
    if len(values) >= 4 and values[1] in ("-", "–", "to", "and", "or", "x", "by", "×", "to(-)"):
        sign = {"-": "–", "–": "–", "x": " × ", "×": " × "}.get(values[1], f" {values[1]} ")
        return f"{values[0]}{sign}{values[2]} {_unit(values[3])}"
    return f"{values[0]} {_unit(values[1])}" if len(values) >= 2 else " ".join(values)


def _unit(unit: str) -> str:
    known = {"sqmi": "sq mi", "sqkm": "km²", "km2": "km²", "m2": "m²", "m3": "m³", "C": "°C"}
    return known.get(unit, {"F": "°F", "kmh": "km/h", "km/h": "km/h"}.get(unit, unit))


def _fraction(arguments: Arguments) -> str:
    values = _positional(arguments)
    if len(values) == 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return "/".join(values) if len(values) > 1 else "1/" + "".join(values)


def _circa(arguments: Arguments) -> str:
    return "c. " + "–".join(_positional(arguments)[:2])


def _as_of(arguments: Arguments) -> str:
    if "alt" in arguments:
        return arguments["alt"]
    lead = "as of" if arguments.get("lc") else "As of"
    year, *rest = _positional(arguments) or [""]
    return " ".join([lead, *reversed(rest[:2]), year])


def _joined(arguments: Arguments) -> str:
    return " ".join(_positional(arguments))


def _french_date(arguments: Arguments) -> str:
    return " ".join(value for value in _positional(arguments)[:3] if value)


def _unwritten(arguments: Arguments) -> str:
    """A link to an article that another language has: here it leads to the local title."""
    target = arguments.get("1", "").strip()
    label = (arguments.get("lt") or arguments.get("texte") or arguments.get("trad") or "").strip()
    if not target or "[" in target:
        return target
    return f"[[{target}|{label}]]" if label else f"[[{target}]]"


def _french_link(arguments: Arguments) -> str:
    if "fr" in arguments:
        arguments = {**arguments, "1": arguments["fr"]}
    return _unwritten(arguments)


def _russian_link(arguments: Arguments) -> str:
    label = arguments.get("2", "").strip()
    return _unwritten({**arguments, "lt": label} if label else arguments)


def _german_quote(arguments: Arguments) -> str:
    return f"„{arguments.get('1') or _text(arguments)}“"


def _sign(text: str) -> Callable[[Arguments], str]:
    return lambda arguments: text


def _table(functions: dict[str, Callable[[Arguments], str]]) -> dict:
    return {name: f for names, f in functions.items() for name in names.split(",")}


_TEMPLATES: dict[str, Callable[[Arguments], str]] = _table(
    {
        "nowrap,nobr,nobreak,small,smaller,big,large,larger,abbr,abréviation,tooltip": _first,
        "nobold,noitalic,bold,italic,smallcaps,sc,vanchor,visible anchor,sup,sub": _first,
        "mvar,math,val,nts,nihongo,num,nombre,date-,1st,nom,iast,script,unicode,okina text": _first,
        "bo-textonly,hebrew,he-nikkud,mono,code,em,strong,u,ruby,langue texte,keypress": _first,
        "quote,blockquote,cquote,quotation,zitat,citation bloc,poem,bq,cita,citazione": _quotation,
        '",„': _german_quote,
        "lang,langue,lingua": _second,
        "transl,transliteration,translit": _last,
        "linktext": _joined,
        "convert,cvt,unité,unit,unidad": _convert,
        "frac,fraction,sfrac": _fraction,
        "circa,c.,ca.,ca": _circa,
        "as of": _as_of,
        "date": _french_date,
        "ill,interlanguage link,仮リンク": _unwritten,
        "lien": _french_link,
        "нп,нп2,нп3,нп4,нп5,не переведено,не переведено 5,не перекладено": _russian_link,
        "!": _sign("|"),
        "=": _sign("="),
        "'": _sign("'"),
        "'s": _sign("'s"),
        "ndash,–,en dash": _sign("–"),
        "mdash,—,em dash": _sign("—"),
        "snd,spnd,spaced ndash,spaced en dash,spaced en dash space": _sign(" – "),
        "nbsp,space,spaces,gap,pad": _sign(" "),
        "shy,wbr,zwsp": _sign(""),
        "okina,hamza": _sign("ʻ"),
        "·,dot,middot,•,bullet": _sign(" · "),
        "pagename": _sign(""),
    }
)

_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "formatnum": str,
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda text: text[:1].lower() + text[1:],
    "ucfirst": lambda text: text[:1].upper() + text[1:],
}
