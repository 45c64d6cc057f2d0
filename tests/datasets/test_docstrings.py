"""Docstrings of every style in use, and of none."""

from __future__ import annotations

import inspect

import pytest

from wikinav_jax.datasets.docstrings import inline, parse_docstring, summary


def parsed(text: str) -> dict[str, list[str]]:
    """{heading: paragraphs}, each heading once."""
    sections = parse_docstring(inspect.cleandoc(text))
    assert len({section.heading for section in sections}) == len(sections)
    return {section.heading: [p.text for p in section.paragraphs] for section in sections}


def references(text: str) -> list[tuple[str, str, bool]]:
    """(shown, name, explicit) of every reference."""
    found = []
    for section in parse_docstring(inspect.cleandoc(text)):
        for p in section.paragraphs:
            found += [(p.text[r.start : r.end], r.name, r.explicit) for r in p.references]
    return found


def test_numpy_style():
    text = """
        Add arguments
        element-wise.

        Parameters
        ----------
        a, b : array_like
            The arrays to add. They
            broadcast.
        out : ndarray, optional

        Returns
        -------
        c : ndarray
            The sum.

        See Also
        --------
        subtract, linalg.norm
        divide : Divides.

        Notes
        -----
        Equivalent to ``a + b``.
        """
    assert parsed(text) == {
        "": ["Add arguments element-wise."],
        "Parameters": [
            "a, b : array_like \u2014 The arrays to add. They broadcast.",
            "out : ndarray, optional",
        ],
        "Returns": ["c : ndarray \u2014 The sum."],
        "See Also": ["subtract, linalg.norm", "divide : Divides."],
        "Notes": ["Equivalent to a + b."],
    }
    assert references(text) == [
        ("subtract", "subtract", True),
        ("linalg.norm", "linalg.norm", True),
        ("divide", "divide", True),
    ]


def test_google_style():
    text = """
        Computes things.

        Args:
          x: the input, of
            any shape.
          rate: how fast.

        Returns:
          What came out,
          as a tuple.

        Example::

          >>> compute(1,
          ...         2)
          3

        Afterwards all is well.
        """
    sections = parse_docstring(inspect.cleandoc(text))
    assert [(s.heading, [p.text for p in s.paragraphs]) for s in sections] == [
        ("", ["Computes things."]),
        ("Args", ["x: the input, of any shape.", "rate: how fast."]),
        ("Returns", ["What came out, as a tuple."]),
        ("Example", [">>> compute(1,", "...         2)", "3"]),
        ("", ["Afterwards all is well."]),
    ]


def test_lists_tables_and_code_are_line_by_line():
    assert parsed(
        """
        Two kinds::

            first = 1
            if first:
                second = 2

        - one item
          goes on
        - another

        ====  =====
        Mode  Means
        ====  =====
        'r'   read
        ====  =====

        read -- reads
        write() -- writes
            everything
        These:
            match     Match a pattern.
            sub       Substitute it
                      everywhere.
        """
    )[""] == [
        "Two kinds:",
        "first = 1",
        "if first:",
        "second = 2",
        "one item goes on",
        "another",
        "Mode Means",
        "'r' read",
        "read -- reads",
        "write() -- writes everything",
        "These:",
        "match Match a pattern.",
        "sub Substitute it everywhere.",
    ]


def test_directives_and_fields():
    assert parsed(
        """
        Text.

        .. deprecated:: 1.2
            Use another.
        .. note:: Take care.
        %(filled_in_on_import)s
        .. code-block:: python
            :linenos:

            run()

        .. currentmodule:: x
        .. _target: http://example.org
        .. [1] A book.

        :param size: how big
        :returns: a thing
        """
    )[""] == [
        "Text.",
        "Deprecated 1.2. Use another.",
        "Note: Take care.",
        "run()",
        "[1] A book.",
        "size: how big",
        "Returns: a thing",
    ]


@pytest.mark.parametrize(
    ("text", "shown", "names"),
    [
        (":func:`~a.b.c` x", "c x", [("c", "a.b.c", True)]),
        (":py:class:`the C <a.C>`", "the C", [("the C", "a.C", True)]),
        (":meth:`.close`", "close", [("close", "close", True)]),
        ("``a.b(1)`` and `c`", "a.b(1) and c", [("a.b(1)", "a.b", False), ("c", "c", False)]),
        ("``x + y`` `~a.b`", "x + y b", [("b", "a.b", False)]),
        ("call frob() now", "call frob() now", [("frob()", "frob", False)]),
        ("`a page <http://x.org>`_ and `name`_", "a page and name", []),
        (":math:`x^2` **bold** and *slanted words*", "x^2 bold and slanted words", []),
        ("*args and **kwargs, 2**3, a*b*c", "*args and **kwargs, 2**3, a*b*c", []),
        ("`Array`\\s, ``x``\\ y", "Arrays, xy", [("Array", "Array", False), ("x", "x", False)]),
        ("an ` alone, ``", "an ` alone, ``", []),
    ],
)
def test_inline_markup(text, shown, names):
    plain, found = inline(text)
    assert plain == shown
    assert [(plain[r.start : r.end], r.name, r.explicit) for r in found] == names


def test_code_names_what_it_calls_but_not_what_it_defines():
    assert references(
        """
        >>> def fit(x): return np.sum(x)
        >>> Widget(1).run("a.b", r"\\log(2)")
        array(3)
        """
    ) == [("np.sum", "np.sum", False), ("Widget", "Widget", False)]


def test_summary_is_the_first_paragraph_without_a_heading():
    assert summary(parse_docstring("One.\n\nTwo.")).text == "One."
    assert summary(parse_docstring("Args:\n  x: y")).text == ""
    assert summary([]).text == ""


@pytest.mark.parametrize("text", ["", "   ", "---", "::", ".. comment", "====\n===="])
def test_nothing_to_read(text):
    assert parse_docstring(text) == []


def test_characters_that_cannot_be_stored_are_replaced():
    assert parsed("a\x00b \ud800 c") == {"": ["a b ? c"]}


def test_a_long_hostile_docstring_is_read_in_time():
    for text in ["`" * 50_000, "*" * 50_000, "(" * 50_000, "a." * 50_000 + "!", "- " * 50_000]:
        parse_docstring(text)
