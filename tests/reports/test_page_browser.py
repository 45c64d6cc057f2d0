"""The page in a real browser: opens without errors, shows its parts, asks for nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.reports.synthetic import make_walks, make_workdir
from wikinav_jax.reports.page import write_report, write_walks_page

pytestmark = pytest.mark.browser

VISIBLE_WALKS = (
    "return [...document.querySelectorAll('details.walk')].filter(w => !w.hidden).length"
)
HOSTILE = (
    "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
    '"><svg onload="document.title=\'pwned\'"></style></title></script>{{ 7*7 }}'
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(make_workdir(tmp_path_factory.mktemp("run"), seeds=3))


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_opens_without_errors_and_fits(browser, report, width):
    browser.requests()
    browser.open(report, width=width)
    assert browser.complaints() == []
    assert set(browser.requests()) == {report.as_uri()}
    assert browser.run("return document.documentElement.scrollWidth") <= width
    parts = browser.run("return [...document.querySelectorAll('main > section')].map(s => s.id)")
    assert parts == ["results", "curves", "walks", "facts"]
    assert browser.run("return document.querySelectorAll('.panel').length") == 4
    assert browser.run("return document.querySelectorAll('.chart').length") >= 4
    # Every plotted dot lies within its track.
    outside = browser.run(
        """return [...document.querySelectorAll('.panel .dot')].filter(dot => {
             const track = dot.closest('td').getBoundingClientRect();
             const box = dot.firstElementChild.getBoundingClientRect();
             const x = (box.left + box.right) / 2;
             return x < track.left - 1 || x > track.right + 1 || box.width === 0;
           }).length"""
    )
    assert outside == 0


def test_dots_stand_at_their_values(browser, report):
    browser.open(report)
    pairs = browser.run(
        """return [...document.querySelectorAll('.panel tbody tr:not(.group)')].map(row => {
             const track = row.querySelector('.track').getBoundingClientRect();
             const box = row.querySelector('.dot > *').getBoundingClientRect();
             const share = ((box.left + box.right) / 2 - track.left) / track.width;
             return [100 * share, parseFloat(row.querySelector('.value').textContent)];
           })"""
    )
    assert len(pairs) == 36
    for position, value in pairs:
        assert position == pytest.approx(value, abs=0.5)


def test_outcomes_differ_in_colour_and_in_words(browser, report):
    browser.open(report)
    shown = browser.run(
        """return ['success', 'failure'].map(kind => {
             const outcome = document.querySelector(`.walk.${kind} .outcome`);
             const end = document.querySelector(`.walk.${kind} .end .badge`);
             const color = element => getComputedStyle(element).color;
             return [outcome.textContent.trim(), end.textContent, color(outcome), color(end)];
           })"""
    )
    (won, tick, won_color, tick_color), (lost, cross, lost_color, cross_color) = shown
    assert (won, tick, lost, cross) == ("✓ Reached", "✓", "✕ Failed", "✕")
    assert won_color == tick_color != lost_color == cross_color


def test_filters(browser, report):
    browser.open(report)
    total = len(make_walks())
    assert browser.run(VISIBLE_WALKS) == total
    click = "document.getElementById(arguments[0]).click()"
    browser.run(click, "outcome-failure")
    assert browser.run(VISIBLE_WALKS) == 1
    assert browser.run("return document.querySelector('output').textContent") == "1 of 6 walks"
    browser.run(click, "outcome-success")
    assert browser.run(VISIBLE_WALKS) == total - 1
    choose = """const select = document.querySelector(`select[name=${arguments[0]}]`);
                select.value = arguments[1];
                select.dispatchEvent(new Event('change', {bubbles: true}));"""
    browser.run(choose, "task", "5-step")
    assert browser.run(VISIBLE_WALKS) == 1
    browser.run(choose, "decoding", "Argmax")
    assert browser.run(VISIBLE_WALKS) == 0
    assert not browser.run("return document.getElementById('walk-none').hidden")
    browser.run(choose, "task", "")
    browser.run(choose, "decoding", "")
    browser.run(click, "outcome-all")
    assert browser.run(VISIBLE_WALKS) == total
    browser.run(click, "walk-toggle")
    assert browser.run("return document.querySelectorAll('details.walk[open]').length") == total
    browser.run(click, "walk-toggle")
    assert browser.run("return document.querySelectorAll('details.walk[open]').length") == 0


def test_works_without_scripts(browser, report):
    browser.open(report, scripts=False)
    try:
        find = browser.driver.find_elements
        assert len(find("css selector", "details.walk")) == len(make_walks())
        assert not find("id", "walk-filters")[0].is_displayed()
        closed = next(
            w for w in find("css selector", "details.walk") if not w.get_attribute("open")
        )
        closed.find_element("tag name", "summary").click()
        assert closed.find_element("class name", "step").is_displayed()
    finally:
        browser.open(report)


def test_keyboard(browser, report):
    """The skip link comes first; walks open by the keyboard; axes switch by arrow keys."""
    from selenium.webdriver.common.keys import Keys

    browser.open(report)
    browser.driver.find_element("tag name", "body").send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    summary = browser.driver.find_elements("css selector", "details.walk:not([open]) > summary")[0]
    walk = summary.find_element("xpath", "..")
    summary.send_keys(Keys.ENTER)
    assert walk.get_attribute("open")
    shown = "return getComputedStyle(document.querySelector('.chart .view-log')).display"
    assert browser.run(shown) == "none"
    browser.driver.find_element("id", "axes-linear").send_keys(Keys.ARROW_RIGHT)
    assert browser.run(shown) != "none"


def test_whole_text_unfolds(browser, report):
    browser.open(report)
    before, after = browser.run(
        """const fold = document.querySelector('details.walk[open] .step .unfold');
           const inside = () => fold.innerText;
           const before = inside(); fold.open = true; return [before, inside()];"""
    )
    assert before.startswith("…") and not after.startswith("…")
    assert len(after) > len(before) and after.endswith(before.removeprefix("… "))


def _luminance(color: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(browser, report, dark):
    """Every text has WCAG AA contrast with what lies behind it, in both colour schemes."""
    browser.open(report, dark=dark)
    browser.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
    found = browser.run(
        """const seen = {};
           const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
           while (walker.nextNode()) {
             const element = walker.currentNode.parentElement;
             if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
             if (element.closest('script')) continue;
             const style = getComputedStyle(element);
             let behind = element, paint = 'rgba(0, 0, 0, 0)';
             while (behind && paint === 'rgba(0, 0, 0, 0)') {
               paint = getComputedStyle(behind).backgroundColor;
               behind = behind.parentElement;
             }
             const ink = element.closest('svg') ? style.fill : style.color;
             seen[ink + ' on ' + paint] = element.tagName + '.' + element.className;
           }
           return seen;"""
    )
    assert len(found) >= 5
    for pair, where in found.items():
        ink, paint = map(_luminance, pair.split(" on "))
        ratio = (max(ink, paint) + 0.05) / (min(ink, paint) + 0.05)
        assert ratio >= 4.5, (pair, where, ratio)
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (_luminance(paper) < 0.2) == dark


def test_names_for_those_who_listen(browser, report):
    """Images have labels, tables captions or labelled regions, ids are unique, levels in order."""
    browser.open(report)
    faults = browser.run(
        """const faults = [];
           for (const image of document.querySelectorAll('[role=img]'))
             if (!image.getAttribute('aria-label')) faults.push('unlabelled image');
           for (const svg of document.querySelectorAll('svg'))
             if (!svg.closest('[aria-hidden=true], [role=img]')) faults.push('loud svg');
           for (const table of document.querySelectorAll('table'))
             if (!table.caption && !table.closest('[aria-label]') && !table.closest('.between'))
               faults.push('nameless table ' + table.className);
           for (const input of document.querySelectorAll('input, select'))
             if (!input.labels.length) faults.push('unlabelled ' + input.id);
           const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
           if (new Set(ids).size !== ids.length) faults.push('ids twice');
           let level = 0;
           for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
             const next = +heading.tagName[1];
             if (next > level + 1) faults.push('level skipped at ' + heading.textContent);
             level = next;
           }
           return faults;"""
    )
    assert faults == []


def test_hostile_text_is_inert(browser, tmp_path):
    workdir = make_workdir(tmp_path / "run")
    walks = make_walks()[:2]
    for walk in walks:
        walk["task"] = HOSTILE
        walk["reason"] = HOSTILE
        for place in (walk["start"], walk["target"], *walk["steps"]):
            place["title"] = HOSTILE
            place["section"] = HOSTILE
            place["text"] = HOSTILE + place["text"]
        for step in walk["steps"]:
            for alternative in step["alternatives"]:
                alternative["title"] = "\u202egnp.exe" + HOSTILE
                alternative["kind"] = HOSTILE
                alternative["anchor"] = [0, 12]
    (workdir / "walks.json").write_text(json.dumps({"walks": walks}), encoding="utf-8")
    rows = json.loads((workdir / "results.json").read_text(encoding="utf-8"))
    for row in rows:
        row["dataset"] = HOSTILE
        row["task"] = HOSTILE + row["task"]
    (workdir / "results.json").write_text(json.dumps(rows), encoding="utf-8")
    metric = {"step": 1, "split": HOSTILE, "name": f"loss/{HOSTILE}", "value": 1.0}
    (workdir / "metrics.jsonl").write_text(json.dumps(metric) + "\n", encoding="utf-8")
    (workdir / "facts.json").write_text(json.dumps({HOSTILE: HOSTILE}), encoding="utf-8")
    (workdir / "config.json").write_text(json.dumps({HOSTILE: {HOSTILE: 1}}), encoding="utf-8")
    page = write_report(workdir, title=HOSTILE)
    browser.requests()
    browser.open(page, width=390)
    assert browser.complaints() == []
    assert set(browser.requests()) == {page.as_uri()}
    assert browser.run("return document.title") == HOSTILE
    assert browser.run("return document.querySelectorAll('img, iframe, object').length") == 0
    assert browser.run("return document.scripts.length") == 1
    assert browser.run("return document.querySelector('h1').textContent") == HOSTILE
    assert browser.run("return document.querySelectorAll('[onload], [onerror]').length") == 0
    assert "\u202e" not in page.read_text(encoding="utf-8")
    assert browser.run("return document.documentElement.scrollWidth") <= 390


def test_the_policy_stops_what_escaping_would_miss(browser, tmp_path, report):
    """Were a script or an image ever to get through, the browser would refuse it."""
    html = report.read_text(encoding="utf-8")
    bad = "<script>document.title='pwned'</script><img src='https://example.invalid/x.png'>"
    page = tmp_path / "injected.html"
    page.write_text(html.replace("<main", bad + "<main"), encoding="utf-8")
    browser.requests()
    browser.open(page)
    assert browser.run("return document.title") != "pwned"
    messages = [entry["message"] for entry in browser.complaints()]
    assert sum("Content Security Policy" in message for message in messages) >= 2
    assert any("example.invalid" in message for message in messages)


def test_walks_page(browser, tmp_path):
    page = write_walks_page(make_walks()[:1], tmp_path / "walk.html", "Salt road to tide gauge")
    browser.open(page)
    assert browser.complaints() == []
    assert browser.run("return document.querySelectorAll('details.walk[open]').length") == 1
    assert browser.run("return document.querySelector('mark + *, .step mark') !== null")
    assert browser.run("return document.querySelector('nav')") is None


def test_empty_run(browser, tmp_path):
    page = write_report(tmp_path)
    browser.open(page)
    assert browser.complaints() == []
    assert browser.run("return document.querySelectorAll('.notes li').length") == 5


def test_prints(browser, report):
    """On paper the furniture is gone, the figures are there and the colours are for paper."""
    browser.open(report, dark=True, media="print")
    display = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert browser.run(display, ".contents") == "none"
    assert browser.run(display, ".filters") == "none"
    assert browser.run(display, ".panel") != "none"
    ink = browser.run("return getComputedStyle(document.body).color")
    assert _luminance(ink) < 0.2
    browser.open(report)
