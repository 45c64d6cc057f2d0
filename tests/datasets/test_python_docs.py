"""A small package on disk, read without running it; and a part of the real standard library."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from wikinav_jax.datasets import python_docs
from wikinav_jax.datasets.blocks import split_into_blocks
from wikinav_jax.datasets.documents import Document
from wikinav_jax.datasets.python_docs import documents, load
from wikinav_jax.datasets.python_names import PythonNames
from wikinav_jax.datasets.python_source import package_files, read_module
from wikinav_jax.graph.store import EdgeKind, open_graph

LONG = " ".join(f"word{i}" for i in range(30)) + "."

FILES = {
    "__init__.py": f'''
        """A toy package. See `geometry` and :func:`toydocs.frobnicate_all`. {LONG}"""
        from ._impl.core import frobnicate_all, Widget, made
        from . import geometry
        __all__ = ["frobnicate_all", "Widget", "lazy_thing", "made"]
        raise RuntimeError("this package must never run")
        ''',
    "_impl/__init__.py": "",
    "_impl/core.py": f'''
        import os.path as osp
        def frobnicate_all(items, speed=1, *, deep=False, table=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)):
            """Frobnicates every item. {LONG}

            Parameters
            ----------
            items : list
                What `items` holds; `speed` says how fast. {LONG}

            See Also
            --------
            Widget, geometry.area : Other things.
            """
        def _hidden():
            """{LONG}"""
        def helper():
            """Never re-exported, so private. {LONG}"""
        class Base(object):
            """{LONG}"""
        def _made():
            """Public under another name. {LONG}"""
        made = _made
        class Widget(Base):
            """A widget. Call `Widget.turn` or ``close()``. {LONG}"""
            def __init__(self, size): pass
            def turn(self, angle: float = 0.0):
                """Turns the Widget, like area() does not. {LONG}"""
            def close(self):
                """Closes it."""
            @property
            def width(self):
                """How wide it is."""
        ''',
    "geometry.py": f'''
        """Geometry. {LONG}"""
        from math import pi
        try:
            import fast
        except ImportError:
            def area(radius):
                """The area; used by frobnicate_all and by toydocs.geometry.Circle. {LONG}

                >>> Circle(1)
                Circle(1)
                """
        else:
            area = fast.area
        class Circle:
            """A circle, no Widget. {LONG}"""
        ''',
    "lazy.py": f'''
        """Imported on demand."""
        def lazy_thing():
            """Imported on demand. {LONG}"""
        ''',
    "_newdocs.py": f'''
        add_newdoc("toydocs.geometry", "sphere", """
            sphere($self, r, /, n=3)
            --

            The area of a sphere. {LONG}
            """)
        add_newdoc("toydocs.geometry", "Cube", ("edge", f"""The {{x}} edge."""))
        add_newdoc("toydocs.geometry", "Cube", """A cube. {LONG}""")
        add_newdoc(place, "unknown", "A variable is not followed.")
        ''',
    "tests/test_it.py": f'"""{LONG}"""',
}


@pytest.fixture
def toydocs(tmp_path, monkeypatch) -> Path:
    root = tmp_path / "site" / "toydocs"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    monkeypatch.syspath_prepend(str(root.parent))
    return root


def read(*packages: str) -> dict[str, Document]:
    return {document.title: document for document in documents(packages)}


def links(document: Document) -> list[tuple[str, str]]:
    """(anchor text, target) of every hyperlink, in order."""
    return [
        (passage.text[a.start : a.end], a.target)
        for section in document.sections
        for passage in section.passages
        for a in passage.anchors
    ]


def text_of(document: Document) -> str:
    return "\n".join(p.text for section in document.sections for p in section.passages)


def test_public_names_are_the_titles(toydocs):
    docs = read("toydocs")
    assert sorted(docs) == [
        "Python modules",
        "toydocs",
        "toydocs.Widget",
        "toydocs.Widget.turn",
        "toydocs.frobnicate_all",
        "toydocs.geometry",
        "toydocs.geometry.Circle",
        "toydocs.geometry.Cube",
        "toydocs.geometry.area",
        "toydocs.geometry.sphere",
        "toydocs.lazy",
        "toydocs.lazy_thing",
        "toydocs.made",
    ]
    assert text_of(docs["toydocs.made"]).startswith("made(), function of toydocs.")
    assert "toydocs" not in sys.modules  # nothing was imported


def test_links_of_a_function(toydocs):
    doc = read("toydocs")["toydocs.frobnicate_all"]
    first = doc.sections[0].passages[0].text
    assert first.startswith(
        "frobnicate_all(items, speed=1, *, deep=False, table=...), function of toydocs."
    )
    # Parameters in back-ticks are no links; See Also entries are.
    assert links(doc) == [
        ("toydocs", "toydocs"),
        ("made", "toydocs.made"),  # neighbours
        ("lazy_thing", "toydocs.lazy_thing"),
        ("Widget", "toydocs.Widget"),
        ("geometry.area", "toydocs.geometry.area"),
    ]
    assert [section.path for section in doc.sections] == [(), ("Parameters",)]
    assert "toydocs._impl.core.frobnicate_all" in doc.aliases
    assert "frobnicate_all" in doc.aliases


def test_links_of_a_class_and_of_its_methods(toydocs):
    docs = read("toydocs")
    widget = docs["toydocs.Widget"]
    assert text_of(widget).startswith("Widget(size), class of toydocs, derived from Base.")
    found = links(widget)
    assert ("Widget.turn", "toydocs.Widget.turn") in found
    assert ("turn", "toydocs.Widget.turn") in found  # from the list of methods
    # Short methods are told there in full.
    assert "close() \u2014 Closes it." in text_of(widget)
    assert "width \u2014 How wide it is." in text_of(widget)
    assert links(docs["toydocs.Widget.turn"])[:3] == [
        ("toydocs.Widget", "toydocs.Widget"),
        ("toydocs", "toydocs"),
        ("Widget", "toydocs.Widget"),
    ]


def test_links_of_modules(toydocs):
    docs = read("toydocs")
    assert {target for _, target in links(docs["toydocs"])} == {
        "Python modules",
        "toydocs.geometry",
        "toydocs.frobnicate_all",
        "toydocs.Widget",
        "toydocs.lazy",
        "toydocs.lazy_thing",
        "toydocs.made",
    }
    assert links(docs["Python modules"]) == [("toydocs", "toydocs")]
    geometry = links(docs["toydocs.geometry"])
    names = [("Circle", "toydocs.geometry.Circle"), ("Cube", "toydocs.geometry.Cube")]
    names += [("area", "toydocs.geometry.area"), ("sphere", "toydocs.geometry.sphere")]
    assert [link for link in geometry if link in names] == names


def test_siblings_stand_beside_each_other(toydocs):
    area = read("toydocs")["toydocs.geometry.area"]
    assert area.sections[0].passages[0].text == (
        "area(radius), function of toydocs.geometry, toydocs. In the same module: sphere."
    )
    # A class of the module is linked by its bare name.
    assert ("Circle", "toydocs.geometry.Circle") in links(area)


def test_documentation_of_what_is_written_in_c(toydocs):
    docs = read("toydocs")
    assert text_of(docs["toydocs.geometry.sphere"]).startswith("sphere(r, n=3), function of")
    assert "edge \u2014 The ... edge." in text_of(docs["toydocs.geometry.Cube"])


def test_entity_links_only_by_distinctive_names(toydocs, tmp_path):
    graph = load(None, tmp_path, tmp_path / "graph", packages=("toydocs",))
    entity = graph.edge_kind == EdgeKind.ENTITY
    sources = np.repeat(np.arange(graph.num_nodes), graph.out_degree)
    found = {
        (graph.title(int(source)), graph.title(int(target)))
        for source, target in zip(sources[entity], graph.indices[entity], strict=True)
    }
    # In its own text, and in the summary that its module gives of it.
    assert found == {
        ("toydocs.geometry.area", "toydocs.frobnicate_all"),
        ("toydocs.geometry", "toydocs.frobnicate_all"),
        ("toydocs.geometry", "toydocs.geometry.Circle"),
    }


def test_graph_and_its_meta(toydocs, tmp_path):
    graph = load(None, tmp_path, tmp_path / "graph", packages=("toydocs",))
    again = load(None, tmp_path, tmp_path / "again", packages=("toydocs",))
    assert graph.num_articles == 13
    assert graph.texts() == again.texts()
    np.testing.assert_array_equal(graph.indices, again.indices)
    assert open_graph(tmp_path / "graph", verify=True).meta["packages"] == {"toydocs": "unknown"}
    assert graph.meta["source_files"] == {"read": 6, "skipped": {}}
    statistics = graph.meta["statistics"]
    assert statistics["largest_strongly_connected_share"] == 1.0
    assert statistics["dropped"]["links_to_unknown_titles"] == 0
    assert statistics["links_to_an_unknown_fragment"] == 0


def test_unreadable_files_are_counted_and_left_out(toydocs, tmp_path, caplog):
    (toydocs / "broken.py").write_text("def f(:\n", encoding="utf-8")
    (toydocs / "nulls.py").write_bytes(b'"""doc"""\0')
    (toydocs / "latin.py").write_bytes(b'"""caf\xe9"""\n')
    (toydocs / "deep.py").write_text("x = " + "(" * 5000 + ")" * 5000, encoding="utf-8")
    (toydocs / "odd.py").write_text('"""Bad escape \\d."""\nx = "\\d"\n', encoding="utf-8")
    with caplog.at_level("WARNING", logger="absl"):
        graph = load(None, tmp_path, tmp_path / "graph", packages=("toydocs",))
    files = graph.meta["source_files"]
    assert files["read"] == 7  # odd.py is only odd
    assert sum(files["skipped"].values()) == 4
    assert files["skipped"]["SyntaxError"] >= 2
    assert "4 of 11 source files could not be read" in caplog.text
    assert graph.find("toydocs.odd") >= 0


def test_folded_members_are_found_where_they_stand(toydocs):
    """A link to a method that has no page leads to the section that tells of it."""
    methods = "\n".join(
        f'    def m{i:02d}(self):\n        """Does {i} things."""' for i in range(80)
    )
    (toydocs / "many.py").write_text(
        f'class Many:\n    """{LONG}"""\n{methods}\n'
        f'def user():\n    """Calls `Many.m70`. {LONG}"""\n',
        encoding="utf-8",
    )
    docs = read("toydocs")
    (anchor,) = (
        a
        for section in docs["toydocs.many.user"].sections
        for passage in section.passages
        for a in passage.anchors
        if a.target == "toydocs.many.Many"
    )
    blocks = split_into_blocks(docs["toydocs.many.Many"])
    (block,) = (block for block in blocks if anchor.fragment in block.section)
    assert "m70() \u2014 Does 70 things." in block.text


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        (("no_such_package_here",), "'no_such_package_here' is not installed"),
        (("numpy.linalg",), "'numpy.linalg' has a dot"),
        (("math",), "'math' has no Python source"),
        ((), "packages is empty"),
        ("json", "is a string; give a tuple"),
    ],
)
def test_wrong_packages_are_an_error(packages, message):
    with pytest.raises(ValueError, match=message):
        list(documents(packages))


def test_a_package_without_docstrings_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "silent_package.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match=r"silent_package .* no docstrings"):
        list(documents(("silent_package",)))


def test_the_fingerprint_follows_the_sources(toydocs, tmp_path):
    options = {"packages": ("toydocs",), "min_words": 10}
    before = python_docs.fingerprint_inputs(None, tmp_path, **options)
    assert before == python_docs.fingerprint_inputs(None, tmp_path, **options)
    (toydocs / "more.py").write_text('"""More."""', encoding="utf-8")
    assert before != python_docs.fingerprint_inputs(None, tmp_path, **options)


def test_imports_in_a_circle_end(tmp_path):
    names = {
        "a": "from b import *\nfrom b import x",
        "b": "from a import *\nfrom a import x\ny = x",
    }
    modules = []
    for name, text in names.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        modules.append(read_module(name, tmp_path / f"{name}.py", "toy"))
    python_names = PythonNames(modules)
    assert python_names.member("a", "x") is None
    assert python_names.member("b", "y") is None
    assert python_names.members("a") == []


def test_the_real_standard_library_in_part():
    docs = read("json", "logging")
    assert {"json", "json.JSONDecoder", "json.dumps", "logging.Logger"} <= set(docs)
    decoder = docs["json.JSONDecoder"]  # json.decoder.JSONDecoder, by its public name
    assert ("json", "json") in links(decoder)
    assert "json.decoder.JSONDecoder" in decoder.aliases
    assert "JSONDecoder" in decoder.aliases
    assert "logging" not in docs["logging"].aliases


def test_real_packages_are_found_without_tests_and_tables():
    names = [name for name, _ in package_files("stdlib")]
    assert names == sorted(set(names))
    assert {"json.decoder", "argparse", "asyncio.locks"} <= set(names)
    assert not [n for n in names if n.split(".")[0] in ("test", "idlelib", "site-packages")]
    assert not [n for n in names if ".tests." in n or n.startswith("encodings.")]
    assert "numpy.linalg" in [name for name, _ in package_files("numpy")]
