"""The frame that every page of ours stands in: templates, style, script, and a strict policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from wikinav_jax import __version__
from wikinav_jax.common.files import atomic_file
from wikinav_jax.reports import figures, names
from wikinav_jax.reports.strings import one_line

_NOTHING = Markup("")
_TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> jinja2.Environment:
    """Templates in which every value is escaped, and an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(figures=figures, names=names)
    return environment


def render(template: str, **values: Any) -> Markup:
    """HTML of a template, every value escaped."""
    return Markup(_environment().get_template(template).render(**values))


def _own(name: str) -> tuple[Markup, str]:
    """(a style sheet or script of ours, its hash for the Content-Security-Policy)."""
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return Markup(text), f"'sha256-{digest}'"


def write_page(
    path: Path,
    title: str,
    eyebrow: str,
    parts: list[tuple[str, str, Markup]],
    notes: Iterable[str] = (),
    *,
    header: Markup = _NOTHING,
    made_from: str = "the files of the run’s folder",
    script_name: str = "page.js",
) -> Path:
    """Writes the frame around `parts` (anchor, title, HTML), atomically."""
    style, style_hash = _own("style.css")
    script, script_hash = _own(script_name)
    html = render(
        "page.html",
        title=one_line(title),
        eyebrow=eyebrow,
        header=header,
        parts=parts,
        notes=list(notes),
        style=style,
        script=script,
        policy=(
            f"default-src 'none'; style-src {style_hash}; script-src {script_hash}; "
            "base-uri 'none'; form-action 'none'"
        ),
        version=__version__,
        made_from=made_from,
    )
    with atomic_file(path) as temporary:
        temporary.write_text(str(html), encoding="utf-8")
    return path
