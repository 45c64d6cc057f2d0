"""HTML pages: what is text, what is a link, what is neither."""

from __future__ import annotations

import pytest

from tests.datasets.sources.corpora import links, texts
from wikinav_jax.datasets.sources.html import HtmlPage, read_html
from wikinav_jax.datasets.sources.html_encoding import decode_html
from wikinav_jax.datasets.sources.links import LinkResolver


def read(source: str, path: str = "docs/a.html", **options) -> HtmlPage:
    return read_html(source, LinkResolver(path).resolve, **options)


def passages(source: str, **options) -> list[str]:
    return [text for _, part in texts(read(source, **options).sections) for text in part]


def test_text_and_links():
    page = read(
        "<title>T</title><h1>Top</h1><p>Some <b>bo</b>ld  text <a href='../b/c.html#s%201'> link"
        " </a>, and<br>more <a href=x.html><img src=p.png></a>.<p>Second&nbsp;one &amp; "
        "<a href='https://e.org'>out</a><h2>Two</h2>three <a href='#x'>own</a>"
    )
    assert page.title == "Top"
    assert texts(page.sections) == [
        ((), ["Some bold text link , and more .", "Second one & out"]),
        (("Two",), ["three own"]),
    ]
    assert links(page.sections) == [("link", "b/c.html", "s 1"), ("own", "docs/a.html", "x")]
    assert page.counts["links_to_other_sites"] == 1


def test_blocks_and_lists_part_passages():
    source = "<div>a<div>b</div>c</div><ul><li>d<li>e<ul><li>f</ul></ul><dl><dt>g<dd>h</dl>i"
    assert passages(source) == list("abcdefghi")


def test_words_do_not_stick_where_elements_end():
    assert passages("<p>one<br>two<span>three</span></p><p>x<wbr>y</p>") == ["one twothree", "xy"]
    assert read("<h2><div>A</div><div>B</div></h2>c").sections[0].path == ("A B",)


def test_what_is_no_text():
    source = (
        "<style>s</style><script>alert('<p>x')</script><nav>n</nav><header>h</header>"
        "<p hidden>i</p><p style='color:red; DISPLAY : none'>j</p><div role=navigation>k</div>"
        "<noscript>l</noscript><button>m</button><p>kept<svg><title>t</title><text>u</text></svg>"
        "</p><!-- comment <p>c</p> --><footer>f</footer><template><p>p</p></template>"
    )
    assert passages(source) == ["kept"]


def test_the_main_part_counts_if_it_has_text():
    words = " ".join(["word"] * 30)
    source = "<body><div>menu</div><{0}><h1>Real</h1><p>{1}</p></{0}><h1>Site</h1><p>end</p>"
    for tag in ("main", "article", "div role=main", "div id=mw-content-text"):
        page = read(source.format(tag, words).replace("</div role=main>", "</div>"))
        if tag.startswith("div"):
            page = read(source.format(tag, words).replace(f"</{tag}>", "</div>"))
        assert texts(page.sections) == [((), [words])], tag
        assert page.title == "Real"
    empty = "<body><main></main><p>All is outside of it.</p>"
    assert passages(empty) == ["All is outside of it."]


def test_headings_make_paths():
    page = read("<h1>T</h1>a<h2>B</h2>b<h3>C</h3>c<h2>D</h2><h4>E</h4>e<h3>F</h3>f")
    assert texts(page.sections) == [
        ((), ["a"]),
        (("B",), ["b"]),
        (("B", "C"), ["c"]),
        (("D", "E"), ["e"]),
        (("D", "F"), ["f"]),
    ]


def test_titles():
    assert read("<title>Page – Site</title><p>x").title == "Page – Site"
    assert read("<title>Page</title><h1>One</h1>x<h1>Two</h1>y").title == "Page"
    assert read("<p>x").title == ""
    page = read("<title>Setup | Docs</title><h2>Setup</h2>x<h2>Next</h2>y")
    assert page.title == "Setup"
    assert texts(page.sections) == [((), ["x"]), (("Next",), ["y"])]
    assert read("<title>Setup2</title><h2>Setup</h2>x").title == "Setup2"


def test_ids_name_the_section_that_they_stand_in():
    page = read(
        "<section id=s><h2 id=h>H</h2>x<dl><dt id=json.loads>f<dd>g</dl></section>"
        "<h2><span id='i'></span>I</h2>y<a name=old></a>z<div id=end></div>"
    )
    assert page.fragments == {
        "s": ("H",),
        "h": ("H",),
        "json.loads": ("H",),
        "i": ("I",),
        "old": ("I",),
    }


def test_tables():
    data = (
        "<p>a</p><table><tr><th>Year<th>Town<tr><td>1900<td><a href=b.html>Bern</a></table><p>b</p>"
    )
    assert passages(data) == ["a", "b"]
    page = read(data, keep_tables=True)
    assert texts(page.sections) == [((), ["a", "Year; Town", "1900; Bern", "b"])]
    assert links(page.sections) == [("Bern", "docs/b.html", "")]
    layout = "<table><tr><td><p>left</p><td><h2>In</h2>right</table>"
    assert passages(layout) == ["left", "right"]


def test_code():
    source = "<p>See</p><pre>\n<b>def</b> f():\n    return <a href=g.html>g</a>\n\n</pre><p>end</p>"
    page = read(source)
    assert texts(page.sections) == [((), ["See", "def f():\n    return g", "end"])]
    assert links(page.sections) == [("g", "docs/g.html", "")]
    assert passages(source, keep_code=False) == ["See", "end"]


def test_a_link_around_blocks_counts_once():
    page = read("<a href=b.html><h3>Card</h3><p>text of it</p></a><p>more</p>")
    assert links(page.sections) == [("text of it", "docs/b.html", "")]
    page = read("<a href=b.html><p>one</p><p>two</p></a><p>more</p>")
    assert links(page.sections) == [("one", "docs/b.html", "")]


WIKI = """<html><head><title>Bee</title></head><body class="mw-body mediawiki">
<h1 id=firstHeading>Bee</h1><div id=mw-content-text class=mw-parser-output>
<div class=hatnote>For others see <a href=Bee_(x)>Bee (x)</a></div>
<table class="infobox"><tr><th>Kingdom<td>Animal</table>
<p>A <b>bee</b><sup id=cite_ref-1 class=reference><a href=#cite_note-1>[1]</a></sup> visits
<a href="./Flower" title=Flower>flowers</a>.<span class=mw-editsection>[<a href=e>edit</a>]
</span></p>
<figure typeof="mw:File/Thumb"><a href=./File:B.jpg><img></a><figcaption>Pic</figcaption></figure>
<details data-level=2 open><summary class=section-heading><h2 id=Life>Life</h2></summary>
<p>It lives in <a href="Hive#Wax_%26_honey">a hive</a>.</p>
<ol class=references><li id=cite_note-1>Source</ol></details>
<div role=navigation class=navbox>N <a href=Other>o</a></div>
<span class="mwe-math-element">x^2</span></div><div>This article is issued from Wikipedia. The text
is licensed so.</div>"""


def test_a_page_of_a_wiki():
    page = read(WIKI, "A/Bee")
    assert page.title == "Bee"
    assert texts(page.sections) == [
        ((), ["A bee visits flowers."]),
        (("Life",), ["It lives in a hive."]),
    ]
    assert links(page.sections) == [
        ("flowers", "A/Flower", ""),
        ("a hive", "A/Hive", "Wax_&_honey"),
    ]
    kept = read(WIKI, "A/Bee", keep_tables=True)
    assert texts(kept.sections)[0][1][0] == "Kingdom; Animal"


def test_refresh():
    page = read('<meta http-equiv="Refresh" content="0; URL=../x/New%20page.html">')
    assert page.refresh == "../x/New%20page.html"


def test_deep_nesting_loses_nothing():
    depth = 30_000
    source = "<div>" * depth + "deep" + "</div>" * depth + "<p>after"
    assert passages(source) == ["deep", "after"]
    assert passages("<b>" * depth + "x" + "</table></p>" * 100 + "<p>y") == ["x", "y"]
    assert passages("<table><tr><td>" * 3_000 + "x") == ["x"]


@pytest.mark.parametrize(
    "source", ["", "  ", "<!-- c -->", "\0", "<", "<a href=", "<p", "]]>", "&#0;"]
)
def test_what_is_hardly_html(source):
    assert read(source).title == ""


def test_unclosed_headings_are_no_trap():
    assert texts(read("<h2>A<h3>B</h3>b").sections) == [(("A", "B"), ["b"])]
    long = " ".join(["long"] * 100)
    assert passages(f"<h2>{long}</h2><p>rest") == [long, "rest"]


def test_headings_that_are_links_keep_them():
    page = read("<h1>Blog</h1><h2><a href=p.html>Post</a></h2><p>Summary.</p>")
    assert texts(page.sections) == [(("Post",), ["Post", "Summary."])]
    assert links(page.sections) == [("Post", "docs/p.html", "")]
    page = read("<h2 id=x><a class=header href=#x>Part</a></h2><p>Text.</p>")
    assert texts(page.sections) == [(("Part",), ["Text."])]


@pytest.mark.parametrize(
    ("source", "text", "clean"),
    [
        ("é".encode(), "é", True),
        ("\ufeffé".encode(), "é", True),
        ("é".encode("utf-16"), "é", True),
        (b"<meta charset=iso-8859-2>\xb1", "<meta charset=iso-8859-2>ą", True),
        (b'<meta http-equiv=x content="text/html; charset=koi8-r">\xd1', None, True),
        (b"<?xml version='1.0' encoding='latin-1'?>\xe9", None, True),
        (b"<meta charset=utf-8>\xe9", "<meta charset=utf-8>é", False),
        (b"<meta charset=nonsense>\xe9", "<meta charset=nonsense>é", False),
        (b"<meta charset=utf-16>abc", "<meta charset=utf-16>abc", True),
        (b"\x81\xe9", "\ufffdé", False),
    ],
)
def test_encodings(source, text, clean):
    decoded, is_clean = decode_html(source)
    assert is_clean == clean
    if text is not None:
        assert decoded == text
    else:
        assert decoded[-1] in "яé"
