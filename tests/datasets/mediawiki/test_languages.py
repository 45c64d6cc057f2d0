"""Pages as the wikis of many languages write them: redirects by their first word, and text."""

from __future__ import annotations

import pytest

from tests.datasets.mediawiki.dumps import Page
from wikinav_jax.datasets.building.chunks import Chunk, PageOptions
from wikinav_jax.datasets.mediawiki.pages import PageParser
from wikinav_jax.datasets.mediawiki.titles import SiteInfo


def parse(text: str, language: str, namespaces: dict[str, int] | None = None) -> Chunk:
    site = SiteInfo(language=language, namespaces=namespaces or {})
    page = Page("Here", text).xml().encode()
    chunk = PageParser(site, PageOptions()).parse([page])
    assert not chunk.failed
    return chunk


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("de", "#WEITERLEITUNG"),
        ("fr", "#REDIRECTION"),
        ("es", "#REDIRECCIÓN"),
        ("ru", "#перенаправление"),
        ("pl", "#PATRZ"),
        ("tr", "#YÖNLENDİRME"),
        ("tr", "#YÖNLENDİR"),
        ("ar", "#تحويل"),
        ("he", "#הפניה"),
        ("fa", "#تغییر مسیر"),
        ("hi", "#अनुप्रेषित"),
        ("zh", "#重定向"),
        ("zh", "#重新導向"),
        ("ja", "#転送"),
        ("ja", "＃リダイレクト"),
        ("ko", "#넘겨주기"),
        ("th", "#เปลี่ยนทาง"),
        ("vi", "#đổi"),
        ("el", "#ΑΝΑΚΑΤΕΥΘΥΝΣΗ"),
        ("ka", "#გადამისამართება"),
        ("sr", "#Преусмери"),
        ("kk", "#АЙДАУ"),
    ],
)
def test_redirects_by_their_word(language, word):
    chunk = parse(f"{word} [[Θ1#Part]]", language)
    assert chunk.redirects == [("Here", "Θ1", "Part")]
    assert not chunk.articles


@pytest.mark.parametrize(
    ("language", "namespaces", "source", "text", "anchors"),
    [
        (
            "ru",
            {"Файл": 6, "Категория": 14},
            "[[Файл:a.jpg|мини|У [[пруд]]а]]'''Мох''' — [[растение|растени]]е.[[Категория:X]]",
            "Мох — растение.",
            [("растение", "Растение")],
        ),
        (
            "ja",
            {"ファイル": 6},
            "'''苔'''（こけ、{{lang-en|moss}}）は[[植物]]です。[[ファイル:a.jpg|サムネイル]]\n__目次強制__",
            "苔（こけ、moss）は植物です。",
            [("植物", "植物")],
        ),
        (
            "zh",
            {"文件": 6},
            "苔是-{zh-hans:[[植物]];zh-hant:[[植物界]]}-。[[Image:a.jpg|缩略图|图]]",
            "苔是植物。",
            [("植物", "植物")],
        ),
        (
            "fa",
            {"پرونده": 6, "رده": 14},
            "[[پرونده:a.jpg|بندانگشتی]][[گیاه]]\u200cها سبزند.[[رده:ا]]",
            "گیاه\u200cها سبزند.",
            [("گیاه\u200cها", "گیاه")],
        ),
        (
            "he",
            {"קובץ": 6, "קטגוריה": 14},
            "[[קובץ:a.jpg|ממוזער]]טחב הוא [[צמח]]ים.[[קטגוריה:א]]",
            "טחב הוא צמחים.",
            [("צמחים", "צמח")],
        ),
        (
            "sr",
            {"Датотека": 6},
            "[[Датотека:a.jpg|мини]]-{sr:[[Биљка]]; sr-el:[[Biljka]]}- и -{Moss}-.",
            "Биљка и Moss.",
            [("Биљка", "Биљка")],
        ),
    ],
)
def test_text_and_links(language, namespaces, source, text, anchors):
    ((_, _, (block,)),) = parse(source, language, namespaces).articles
    assert block.text == text
    found = [(block.text[a.start : a.end], a.target) for a in block.anchors]
    assert found == anchors
