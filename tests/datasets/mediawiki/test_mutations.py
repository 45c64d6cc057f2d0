"""Mutated pages do no harm, and the benchmark of the parser runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import wikitext
from tests.datasets.mediawiki.dumps import Page, dump
from wikinav_jax.datasets.mediawiki.titles import SiteInfo

SOURCE = """{{Infobox place|name=Quay|image=[[File:a.jpg|thumb|see [[Moss]]]]|{{nested|x=''y''}}}}
'''Old Quay''' (''{{lang|fr|vieux quai}}''; born {{circa|1200}}) is a [[harbour]]<ref
name="a">{{cite book|title=[[Harbours]]|url=http://example.org}}</ref> of [[Moss (town)|Moss]]es,
l'''[[Pier]]''.<!-- note
-->
[[File:Pier.jpg|thumb|By the [[Old Quay#History|quay]] at {{convert|5|km|mi}}]]
== History ==
* [http://example.org See [[Moss|mosses]] now] and <nowiki>[[not]] {{this}}</nowiki>
*# It is {{formatnum:18}}&nbsp;°C &amp; <math>x^2</math> there <br/> H<sub>2</sub>O
; term : [[:Category:Tools]], [[de:Haus]], [[bus]]es
{| class="wikitable"
|+ Caption
! a !! b
|-
| [[c]] || style="x" | [[d|e]]
|}
<gallery>
File:b.jpg|[[f]]
</gallery>
=== Later ===
 preformatted [[Law#Rule|rule]] ''a '''b'' c'''
<pre>* [[not]]</pre>
__NOTOC__ -{zh-hans:a;zh-hant:b}- {{{1|[[g]]}}}
[[Category:Quays|*]]
"""


def test_mutated_pages():
    dumps = [
        (SiteInfo(language=language), [wikitext.Page("Old Quay", SOURCE)])
        for language in ("en", "zh")
    ]
    survey = wikitext.survey_mutations(dumps, 0, 1000, seed=7)
    assert survey.failures == []
    assert survey.pages == 1000


@pytest.mark.data
def test_mutations_of_real_pages(real_data):
    folder = real_data / "wiki" / "dumps"
    names = ("dumpster-smallwiki.xml.xz", "wikidump-simplewiki.xml.bz2")
    dumps = [wikitext.articles(folder / name) for name in names]
    survey = wikitext.survey_mutations(dumps, 0, 500, seed=0)
    assert survey.failures == []


def test_mutations_depend_on_their_seed():
    def pages(seed):
        return [wikitext.mutated(SOURCE, np.random.default_rng([seed, i])) for i in range(20)]

    assert pages(1) == pages(1) != pages(2)
    assert all(len(page) <= 2 << 20 for page in pages(3))
    assert sum(page != SOURCE for page in pages(3)) > 15


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "wiki.xml"
    path.write_text(dump([Page("Old Quay", SOURCE), Page("Moss", "A [[town]].")]), "utf-8")
    return path


def test_benchmark_of_mutations(path, tmp_path, capsys):
    flags = [str(path), "--mutations=30", "--json", str(tmp_path / "out.json")]
    wikitext.main(flags)
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert result["pages"] == 30
    assert result["failures"] == []
    assert "30 mutated pages" in capsys.readouterr().out


def test_benchmark_beside_mwparserfromhell(path, capsys):
    pytest.importorskip("mwparserfromhell", reason="only the comparison needs it")
    result = wikitext.main([str(path)])
    assert result["total"]["pages"] == 2
    assert result["their_links"]["UNEXPLAINED"] == 0
    assert result["their_links"]["in our text"] >= 7
    assert "times mwpfh" in capsys.readouterr().out
