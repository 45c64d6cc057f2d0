"""Wikitext to text and anchors: each case that is known to trip such tools, by its right value."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.blocks import split_into_blocks
from wikinav_jax.datasets.building.limits import time_limit
from wikinav_jax.datasets.documents import Document
from wikinav_jax.datasets.mediawiki.titles import SiteInfo, Titles
from wikinav_jax.datasets.mediawiki.wikitext import ParsedPage, WikitextParser

ENGLISH = SiteInfo(
    database="enwiki", namespaces={"": 0, "Talk": 1, "Wikipedia": 4, "File": 6, "Category": 14}
)
GERMAN = SiteInfo(database="dewiki", language="de", namespaces={"": 0, "Datei": 6, "Kategorie": 14})


def parse(source: str, site: SiteInfo = ENGLISH, title: str = "Own page", **options) -> ParsedPage:
    return WikitextParser(Titles(site), **options).parse(source, title)


def passages(source: str, **options) -> list[str]:
    """The texts of all passages."""
    return [p.text for s in parse(source, **options).sections for p in s.passages]


def anchors(source: str, **options) -> list[tuple[str, str, str]]:
    """(text, target, fragment) of all anchors."""
    return [
        (p.text[a.start : a.end], a.target, a.fragment)
        for s in parse(source, **options).sections
        for p in s.passages
        for a in p.anchors
    ]


# source, its one passage, its anchors (a bare string: text and target are the same)
CASES = [
    ("[[File:Pier.jpg|thumb|By the [[Old Quay]] at dusk]] North.", "North.", []),
    (
        "[http://example.org See [[Moss|mosses]] now]",
        "See mosses now",
        [("mosses", "Moss", "")],
    ),
    (
        "[http://example.org <nowiki>[A-B]: Spec</nowiki>] of [[Pact]]",
        "[A-B]: Spec of Pact",
        [("Pact", "Pact", "")],
    ),
    ("[[bus]]es, [[dog]]'s", "buses, dog's", [("buses", "Bus", ""), ("dog", "Dog", "")]),
    ("[[the Kettles]]", "the Kettles", [("the Kettles", "The Kettles", "")]),
    (
        "the [[Law#History (1871–1945)|rule]] of",
        "the rule of",
        [("rule", "Law", "History (1871–1945)")],
    ),
    ("[[1&nbsp;000]]", "1 000", [("1 000", "1 000", "")]),
    ("[[%26#x25;]]", "%26#x25;", [("%26#x25;", "%", "")]),
    ("[[R & B; Live]]", "R & B; Live", [("R & B; Live", "R & B; Live", "")]),
    ("is {{formatnum:18}}&nbsp;°C", "is 18 °C", []),
    (
        "[[:Category:Tools]] [[Category:X]] [[de:Haus]] [[Datei:a.jpg|mini]]",
        "Category:Tools",
        [],
    ),
    ("[[Stó:lō]]", "Stó:lō", [("Stó:lō", "Stó:lō", "")]),
    (
        "[[Moss]] and [[moss|it]]",
        "Moss and it",
        [("Moss", "Moss", ""), ("it", "Moss", "")],
    ),
    ("{{Box|n=''[[et vir]]'}} '''''Hi'''''", "Hi", []),
    # links
    ("[[Foo (band)|]]", "Foo", [("Foo", "Foo (band)", "")]),
    ("[[Boston, Lincolnshire|]]", "Boston", [("Boston", "Boston, Lincolnshire", "")]),
    ("[[Help:Links|]]", "Links", []),
    ("[[#Later|below]]", "below", [("below", "Own page", "Later")]),
    (
        "[[ Old_Quay # On_time ]]",
        "Old_Quay # On_time",
        [("Old_Quay # On_time", "Old Quay", "On time")],
    ),
    ("a [[Bee| bee]]s", "a bees", [("bees", "Bee", "")]),
    ("a [[Bee|bee ]]now", "a bee now", [("bee now", "Bee", "")]),
    ("[[a|[b]]]", "[b]", [("[b]", "A", "")]),
    ("[[[Bee]]]", "[Bee]", [("Bee", "Bee", "")]),
    ("[[Bee|the [[Wasp]] one]]", "the Wasp one", [("Wasp", "Wasp", "")]),
    ("[[Bee|]] [[|]]", "Bee", [("Bee", "Bee", "")]),
    ("[[Bee|{{flagicon|x}}]] x", "x", []),
    ("[[Bad{title]] [[Bee]]", "[[Bad{title]] Bee", [("Bee", "Bee", "")]),
    ("[[wikt:bee|bee]] [[:fr:Abeille|fr]] [[Special:Random|x]]", "bee fr x", []),
    ("[[en:Bee]] here", "en:Bee here", [("en:Bee", "Bee", "")]),
    ("[[Media:Bee.ogg|listen]]", "listen", []),
    ("[[:File:Bee.jpg]]", "File:Bee.jpg", []),
    ("[[Bee|''B'' &amp; '''b''']]", "B & b", [("B & b", "Bee", "")]),
    ("[[Bee|two\nlines]]", "two lines", [("two lines", "Bee", "")]),
    ("[[Image:a.png|[[Bee|x [http://e.org y] z]]|{{t|]]}}]]end", "end", []),
    ("[[Bee]]<nowiki/>s", "Bees", [("Bee", "Bee", "")]),
    ("[[Bee]]<!-- c -->s", "Bees", [("Bees", "Bee", "")]),
    # external links
    ("[http://example.org] [//example.org/a b] [mailto:a@b.org c]", "b c", []),
    ("see [1] and [sic]", "see [1] and [sic]", []),
    ("[http://example.org ''a''] http://b.org", "a http://b.org", []),
    # apostrophes
    ("l'''[[Iliade]]'' de", "l'Iliade de", [("Iliade", "Iliade", "")]),
    ("'''''a''' b'' c''''d''''", "a b c'd'", []),
    ("l''''Odissea''' dell'''opera''", "l''Odissea dellopera", []),
    ("''''''x''''''", "'x'", []),
    # tags and references
    ("a<ref>{{cite|[[x]]}}</ref>b<ref name=c />, <references/>d", "ab, d", []),
    ("E = <math>mc^2 [[x]]</math>.", "E =.", []),
    ("<nowiki>[[a]] {{b}} ''c'' &lt; <ref></nowiki>", "[[a]] {{b}} ''c'' < <ref>", []),
    ("H<sub>2</sub>O<br/>x <foo>y</foo> 1 < 2", "H2O x <foo>y</foo> 1 < 2", []),
    ("<gallery>\nFile:a.jpg|[[b]]\n</gallery>c", "c", []),
    ("&amp;lt; &#65;&#x42;&unknown; &nbsp;&#0;", "&lt; AB&unknown;", []),
    ("__NOTOC__ a __b__ __KEIN_INHALT__", "a __b__", []),
    ("soft\u00adhyphen", "softhyphen", []),
    # templates
    ("a {{b|{{c|d}}|{{{e|}}} }} f", "a f", []),
    ("a (''{{xyz|x}}''; born) b ({{y}}) {{z}}, c", "a (born) b, c", []),
    ("{{nowrap|[[Bee|b]] {{small|c}}}} d", "b c d", [("b", "Bee", "")]),
    ("{{lang|fr|mot}} {{lang-de|Wort}} {{abbr|Dr|Doctor}}", "mot Wort Dr", []),
    ("{{convert|5|km|mi}}, {{convert|2|-|3|km2}}, {{frac|1|2}}", "5 km, 2–3 km², 1/2", []),
    ("1914{{ndash}}1918{{nbsp}}x {{uc:ab}} {{PAGENAME}}", "1914–1918 x AB Own page", []),
    ("{{ill|Bee|de|Biene}}", "Bee", [("Bee", "Bee", "")]),
    ("{{{1|default}}} {{{2}}} x", "default x", []),
    ("[[Bee{{!}}b]]", "b", [("b", "Bee", "")]),
    # unbalanced
    ("{{open [[Bee]] x", "{{open Bee x", [("Bee", "Bee", "")]),
    ("a }} b ]] [[Bee]]", "a }} b ]] Bee", [("Bee", "Bee", "")]),
    ("[[open [[Bee]] x", "[[open Bee x", [("Bee", "Bee", "")]),
    ("[http://open [[Bee]] x", "[http://open Bee x", [("Bee", "Bee", "")]),
    (
        "a<ref>open [[Bee]]<ref name=b>x <ref name=c /> y</ref> c",
        "aopen Bee c",
        [("Bee", "Bee", "")],
    ),
    ("a <ref>open [[Bee]]", "a open Bee", [("Bee", "Bee", "")]),
    ("{{a|[[b}} c [[Bee]]", "c Bee", [("Bee", "Bee", "")]),
    ("a <!-- open [[Bee]]", "a", []),
    ("''a '''b'' c", "a b c", []),
]


@pytest.mark.parametrize(("source", "text", "links"), CASES, ids=[case[0][:40] for case in CASES])
def test_case(source, text, links):
    assert passages(source) == [text]
    assert anchors(source) == links


def test_local_namespaces_come_from_the_dump():
    source = "[[Datei:a.jpg|mini|x [[y]]]] [[Bild:b.jpg]] [[File:c.jpg]] [[Kategorie:D]] Haus"
    assert passages(source, site=GERMAN) == ["Haus"]
    assert passages("[[Kategorie:D|d]] e", site=ENGLISH) == ["e"]


def test_link_trails_follow_the_language():
    assert anchors("[[Haus]]tür", site=GERMAN) == [("Haustür", "Haus", "")]
    assert anchors("[[Haus]]tür", site=ENGLISH) == [("Haust", "Haus", "")]
    russian = SiteInfo(database="ruwiki", language="ru")
    assert anchors("[[дом]]а и", site=russian) == [("дома", "Дом", "")]
    assert anchors("[[猫]]です", site=SiteInfo(language="ja")) == [("猫", "猫", "")]

    georgian = SiteInfo(language="ka")
    assert anchors("[[ხავსი]]ს ფერი", site=georgian) == [("ხავსის", "ხავსი", "")]
    assert anchors("[[काई]]याँ हैं।", site=SiteInfo(language="hi")) == [("काईयाँ", "काई", "")]
    assert anchors("[[苔]]moss", site=SiteInfo(language="zh")) == [("苔", "苔", "")]


def test_switches_of_every_script():
    switches = "__NOTOC__ __notoc__ __БЕЗ_ОГЛ__ __目次非表示__ __لا_تحرير_للقسم__ __विषयसूची_हीन__"
    assert passages(f"a {switches} b") == ["a b"]
    assert passages("__init__ and __new_name__") == ["__init__ and __new_name__"]


def test_reverse_pipe_trick():
    assert anchors("[[|Foo]]", title="Bar (band)") == [("Foo", "Foo (band)", "")]
    assert anchors("[[|Foo]]", title="Bar, Texas") == [("Foo", "Foo, Texas", "")]


def test_variants_of_a_language():
    chinese = SiteInfo(language="zh", database="zhwiki")
    source = "-{zh-hans:计算机; zh-hant:電腦;}- -{T|zh:题}--{原}-"
    assert passages(source, site=chinese) == ["计算机 原"]
    assert passages("-{Alien: Covenant}- -{http://e.org}-", site=chinese) == [
        "Alien: Covenant http://e.org"
    ]
    assert passages("-{苔 => zh-hant:藓; zh-cn:苔}-", site=chinese) == ["藓"]
    assert passages("-{zh-cn:R&amp;B;zh-tw:節奏}-", site=chinese) == ["R&B"]
    assert anchors("-{zh-hans:[[苔藓]];zh-hant:[[苔蘚]]}-", site=chinese) == [("苔藓", "苔藓", "")]


def test_sections_lists_and_paragraphs():
    page = parse(
        "Lead\nstill lead.\n\nSecond.\n* one\n** ''two''\n#three\n; term : what\n"
        "== First ==\nA\n=== ''Inner'' ===\n----\nB\n== [[Bee|Second]] == <!-- c -->\n"
        "=== Empty ===\n==== Deep ====\n: C\n=D=\nE\n=====\n"
    )
    assert [(s.path, [p.text for p in s.passages]) for s in page.sections] == [
        ((), ["Lead still lead.", "Second.", "one", "two", "three", "term : what"]),
        (("First",), ["A"]),
        (("First", "Inner"), ["B"]),
        (("Second", "Empty", "Deep"), ["C"]),
        (("D",), ["E"]),
    ]


def test_a_comment_alone_on_a_line_parts_no_paragraph():
    assert passages("one\n<!-- note -->\ntwo") == ["one two"]
    assert passages("one<!-- note -->\n\ntwo") == ["one", "two"]


TABLE = """Before [[A]].
{| class="wikitable"
|+ Caption
! Head !! Other
|-
| style="x" | [[B|b||b]] || c
{|
| inner [[D]]
|}
|}
After [[E]]."""


def test_tables_are_dropped_or_kept():
    assert passages(TABLE) == ["Before A.", "After E."]
    assert [target for _, target, _ in anchors(TABLE)] == ["A", "E"]
    kept = ["Before A.", "Caption", "Head; Other", "b||b; c", "inner D", "After E."]
    assert passages(TABLE, keep_tables=True) == kept
    assert [target for _, target, _ in anchors(TABLE, keep_tables=True)] == ["A", "B", "D", "E"]


def test_a_table_left_open_takes_only_its_rows():
    assert passages("a\n{| x\n|-\n| b\n! c\n\nd [[E]]") == ["a", "d E"]
    assert passages("a\n{| x\n| b\n{|\n| c\n|}\n| d\n\ne") == ["a", "e"]
    assert passages("a <table><tr><td>x<table>y</table></td></tr></table> b") == ["a", "b"]


def test_cells_of_many_lines_and_tables_without_an_end():
    source = "{|\n| a\nmore\n* item\n\n| {{x}} || style=y | b\n|-\n| c\n== H ==\n| text"
    page = parse(source, keep_tables=True)
    assert [(s.path, [p.text for p in s.passages]) for s in page.sections] == [
        ((), ["a; more; item; b", "c"]),
        (("H",), ["| text"]),
    ]


def test_a_page_without_links_or_text():
    assert passages("Nothing to follow.") == ["Nothing to follow."]
    assert parse("").sections == ()
    assert parse("{{x}}\n== A ==\n[[Category:B]]\n").sections == ()


def test_what_became_of_links_is_counted():
    counts = parse("[[A]] [[Category:B]] [[de:C]] [[wikt:D|d]] [[E|&nbsp;]] [[F|[[G]]]]").counts
    assert counts["links_article"] == 2
    assert counts["links_category"] == counts["links_language"] == counts["links_other"] == 1
    assert counts["links_without_text"] == 1
    assert counts["links_around_links"] == 1


def test_the_parsers_own_marks_in_the_source_do_no_harm():
    source = "\x010\x02[[A]]\x03 &#1;&#xE05B; \ue05b\ue05b x"
    assert passages(source) == ["0A x"]
    assert anchors(source) == [("A", "A", "")]


HOSTILE = {
    "braces": "{{" * 100_000,
    "closing braces": "{{a" + "}}" * 100_000,
    "brackets": "[[" * 100_000,
    "nested links": "[[a|" * 50_000 + "]]" * 50_000,
    "nested files": "[[File:a|" * 50_000 + "]]" * 50_000,
    "external links": "[http://a " * 50_000 + "]" * 50_000,
    "expanded templates": "{{nowrap|a" * 30_000 + "}}" * 30_000,
    "parameters": "{{{a|" * 50_000 + "}}}" * 50_000,
    "references": "<ref>" * 50_000,
    "tags without end": "<ref " * 50_000,
    "comments": "<!--" * 50_000 + "x",
    "tables": "{|\n" * 50_000 + "|}\n" * 25_000,
    "html tables": "<table>" * 50_000 + "</table>" * 25_000,
    "apostrophes": "'" * 200_000 + "a" + "''b'''" * 30_000,
    "entities": "&amp" * 50_000 + "&" * 50_000,
    "parentheses": "({{a}}" * 30_000 + "(" * 30_000 + " ;" * 30_000,
    "spaces": " " * 200_000 + "a" + "{{x}} " * 50_000,
    "headings": "=" * 100_000 + "a" + "=" * 100_000 + "\n= a =\n" * 20_000,
    "deep headings": "".join("=" * (i % 7) + "a" + "=" * (i % 7) + "\n" for i in range(50_000)),
    "underscores": "__A" * 50_000 + "_" * 50_000,
    "variants": "-{" * 50_000 + "}-" * 50_000,
    "pipes": "[[" + "a|" * 100_000 + "]]",
    "long title": "[[" + "a" * 200_000 + "]]",
    "percent": "[[" + "%41" * 50_000 + "]]",
    "dots": "." * 300_000 + "!?" * 100_000,
    "words": "word " * 100_000 + "x" * 300_000 + "[[a|" + "y. Z " * 30_000 + "]]",
    "colons": "[[" + "en:" * 50_000 + "]]" + ":" * 50_000,
}


@pytest.mark.parametrize(
    ("name", "language", "keep_tables"),
    [(name, "en", False) for name in HOSTILE]
    + [(name, "zh", True) for name in ("tables", "variants", "pipes", "headings", "nested links")],
)
def test_hostile_pages_are_read_to_their_end(name, language, keep_tables):
    """Anything quadratic would take minutes here."""
    source = HOSTILE[name]
    with time_limit(60):
        page = parse(source, site=SiteInfo(language=language), keep_tables=keep_tables)
        split_into_blocks(Document("Own page", page.sections))
    length = sum(len(p.text) for s in page.sections for p in s.passages)
    assert length <= len(source) + 10
