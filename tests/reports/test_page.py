"""The page copes with what runs leave behind; how it looks in a browser is tested beside."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from markupsafe import Markup

from tests.reports.synthetic import CONFIG, FACTS, make_rows, make_walks, make_workdir
from wikinav_jax.reports import page
from wikinav_jax.reports.page import write_report, write_walks_page
from wikinav_jax.reports.sections import SECTIONS, Section

VOID = {"meta", "input", "br", "img", "link", "col"}


class Checker(HTMLParser):
    """Fails on tags that do not nest; collects text and what loads something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.loads: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, names)
        self.loads += [
            (name, value)
            for name, value in attrs
            if name in ("src", "srcset", "data", "action", "style", "background")
            or name.startswith("on")
            or (name == "href" and not (value or "").startswith("#"))
        ]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("dt", "dd", "th", "td", "p", "li", "h1", "h2", "h3", "h4"):
            self.text.append(" ")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def checked(path) -> str:
    """The page's text, after checking that it is well formed and loads nothing."""
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == [] and checker.loads == []
    return " ".join("".join(checker.text).split())


def test_a_whole_run(tmp_path):
    path = write_report(make_workdir(tmp_path / "run"))
    assert path == tmp_path / "run" / "report.html"
    text = checked(path)
    assert "RFBC on Harrow" in text
    assert "RFBC (without revisits) reaches 92.9% of its targets on the multistep task" in text
    for title in ("Results", "Learning curves", "Example walks", "Training"):
        assert title in text
    assert "Training time 3 min 04 s" in text and "dataset.target_words 100" in text
    assert "optimizer.clip –" in text and "0.5, 0.5" in text
    assert "left out" not in text.split("Results")[0]
    assert {entry.suffix for entry in path.parent.iterdir()} == {".html", ".json", ".jsonl"}
    # The same files give the same page.
    before = path.read_bytes()
    assert write_report(path.parent).read_bytes() == before
    assert len(before) < 1_000_000


def test_the_exact_figures_are_those_of_the_rows(tmp_path):
    html = write_report(make_workdir(tmp_path)).read_text(encoding="utf-8")
    table = html.split('class="figures"')[1].split("</table>")[0]
    for row in make_rows():
        if row["metric"] == "excluded":
            continue
        shown = (
            f"{row['value']:.1f}" if row["metric"] == "mean_steps" else f"{100 * row['value']:.1f}"
        )
        assert re.search(rf">{re.escape(shown)}<", table), row
    assert "1,000 episodes, 4 excluded" in html and "Excluded" not in table
    assert table.count("<strong>") == 8  # success and SPL of four tasks


def test_several_seeds_and_groups(tmp_path):
    make_workdir(tmp_path, seeds=3)
    rows = make_rows(seeds=3) + make_rows(split="train", shift=0.05)
    (tmp_path / "results.json").write_text(json.dumps(rows), encoding="utf-8")
    text = checked(write_report(tmp_path))
    assert "mean of 3 seeds, standard deviation" in text
    assert "1,000 × 3" in text and "0, 1, 2" in text
    assert text.index("Harrow, held-out graph") < text.index("Harrow, training graph")


def test_an_empty_workdir(tmp_path):
    text = checked(write_report(tmp_path, title="Nothing yet"))
    assert "Nothing yet" in text
    for name in ("results.json", "metrics.jsonl", "walks.json", "facts.json", "config.json"):
        assert f"{name} is not there" in text
    assert "Learning curves" not in text


def test_the_title_falls_back_to_the_folder(tmp_path):
    (tmp_path / "my-run").mkdir()
    assert "Run my-run" in checked(write_report(tmp_path / "my-run"))


def test_no_workdir(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_report(tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("results.json", '[{"system"', "results.json could not be read"),
        ("results.json", "{}", "results.json could not be read"),
        ("walks.json", '{"walks": [', "walks.json could not be read"),
        ("walks.json", "[]", "it holds no list walks"),
        ("facts.json", "[1]", "facts.json could not be read"),
        ("config.json", "\x00", "config.json could not be read"),
        ("metrics.jsonl", '{"step": 1', "1 line that cannot be read left out (line 1)"),
        ("walks.json", '{"walks": [{}]}', "1 of its walks left out (walks[0] lacks 'outcome'"),
        ("results.json", '[{"n": 1}]', "1 of its rows left out (row 1: row {'n': 1} lacks system"),
    ],
)
def test_broken_files_become_notes(tmp_path, name, content, note):
    make_workdir(tmp_path)
    (tmp_path / name).write_text(content, encoding="utf-8")
    text = checked(write_report(tmp_path))
    assert note in text
    assert str(tmp_path) not in text
    assert "Training" in text


def test_rows_that_are_not_finite_are_refused_and_the_rest_shown(tmp_path):
    make_workdir(tmp_path)
    rows = make_rows()
    for row in rows[:5]:
        row["value"] = float("nan")
    (tmp_path / "results.json").write_text(json.dumps(rows), encoding="utf-8")
    text = checked(write_report(tmp_path))
    assert "5 of its rows left out" in text and "and 2 more" in text
    assert "nan" not in text.replace("is not finite", "").split("Results")[-1].lower()
    assert "Exact figures" in text


def test_a_single_row_and_a_single_point(tmp_path):
    row = {**make_rows()[0], "decoding": ""}
    (tmp_path / "results.json").write_text(json.dumps([row]), encoding="utf-8")
    line = json.dumps({"step": 0, "split": "train", "name": "loss", "value": 1.0})
    (tmp_path / "metrics.jsonl").write_text(line, encoding="utf-8")
    text = checked(write_report(tmp_path))
    assert "Random reaches 41.8%" in text and "1 task" in text
    assert "Loss" in text


def test_thousands_of_points_stay_small(tmp_path):
    lines = (
        f'{{"step": {step}, "split": "train", "name": "loss", "value": {1 + 1 / (step + 1)}}}\n'
        for step in range(200_000)
    )
    (tmp_path / "metrics.jsonl").write_text("".join(lines), encoding="utf-8")
    path = write_report(tmp_path)
    assert "200,000" in checked(path)
    assert path.stat().st_size < 150_000


def test_long_texts_and_many_steps(tmp_path):
    walk = make_walks()[5]
    for step in walk["steps"]:
        step["text"] = (step["text"] + " ") * 12
    (tmp_path / "walks.json").write_text(json.dumps({"walks": [walk] * 20}), encoding="utf-8")
    path = write_report(tmp_path)
    text = checked(path)
    assert "Steps 13 to 96 in short" in text
    assert path.stat().st_size < 5_000_000


HOSTILE = (
    "</script></style></title>--><script>alert(1)</script>\"'><b>&amp;{{ 7*7 }}\u202ecod.exe\x00"
)


def hostile(value):
    """`value` with every string, and every key of facts, made hostile; schema words are kept."""
    if isinstance(value, str):
        return HOSTILE + value
    if isinstance(value, list):
        return [hostile(item) for item in value]
    if isinstance(value, dict):
        return {HOSTILE + key: hostile(item) for key, item in value.items()}
    return value


def test_everything_hostile_at_once(tmp_path):
    make_workdir(tmp_path)
    (tmp_path / "facts.json").write_text(json.dumps(hostile(FACTS)), encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps(hostile(CONFIG)), encoding="utf-8")
    rows = make_rows()
    for row in rows:
        for field in ("system", "dataset", "split", "task", "method", "decoding"):
            row[field] = HOSTILE + row[field]
    rows.append({HOSTILE: 1})
    (tmp_path / "results.json").write_text(json.dumps(rows), encoding="utf-8")
    metric = {"step": 1, "split": HOSTILE, "name": HOSTILE, "value": 1}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(metric), encoding="utf-8")
    path = write_report(tmp_path, title=HOSTILE)
    html = path.read_text(encoding="utf-8")
    text = checked(path)
    assert "alert(1)" in text and "{{ 7*7 }}" in text
    assert html.count("<script>") == 1 and "<b>" not in html
    assert "\u202e" not in html and "\x00" not in html


def test_facts_as_people_read_them(tmp_path):
    facts = {
        "Time (s)": 7384.2,
        "Endless (s)": float("inf"),
        "Licence": "x" * 60,
        "Flag": True,
        "Nothing": None,
        "List": [1, 2.5, "a"],
        "Empty": {},
        "run_record": {"first_step": 1, "inner": {"a_b": 1234.5}, "Rate 1.5": 0.25},
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    text = checked(write_report(tmp_path)).split("Training")[-1]
    for shown in (
        "Time 2 h 03 min",
        "Endless (s) inf",
        "Flag yes",
        "Nothing –",
        "List 1, 2.5, a",
        "run record first step 1 inner: a b 1,234 Rate 1.5 0.25",
    ):
        assert shown in text
    assert text.index("Flag") < text.index("Licence") < text.index("run record")


def test_lone_surrogates_can_be_written(tmp_path):
    (tmp_path / "facts.json").write_text('{"Title": "a\\ud800b"}', encoding="utf-8")
    assert "Title a\ufffdb" in checked(write_report(tmp_path))


def test_policy_forbids_the_network_and_fits_the_page(tmp_path):
    html = write_report(make_workdir(tmp_path)).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    rules = policy[1].replace("&#39;", "'")
    assert rules.startswith("default-src 'none';") and "unsafe" not in rules and "http" not in rules
    # The hashes are of what the page holds (the browser tests see them accepted).
    assert rules.count("'sha256-") == 2
    assert "http://" not in html and "https://" not in html


def test_walks_page(tmp_path):
    path = write_walks_page(make_walks()[:2], tmp_path / "sub" / "walks.html", "Two walks")
    text = checked(path)
    assert "Two walks" in text and "Salt road" in text
    assert "no walks to show" in checked(write_walks_page([], tmp_path / "none.html", "None"))
    with pytest.raises(ValueError, match=r"walks\[1\] lacks 'outcome'"):
        write_walks_page([make_walks()[0], {}], tmp_path / "bad.html", "Bad")
    assert not (tmp_path / "bad.html").exists()


def test_a_failing_section_leaves_the_old_report(tmp_path, monkeypatch):
    path = write_report(make_workdir(tmp_path))
    before = path.read_bytes()

    def fail(run):
        raise RuntimeError("broken")

    monkeypatch.setattr(page, "SECTIONS", (*SECTIONS, Section("x", "X", fail)))
    with pytest.raises(RuntimeError):
        write_report(tmp_path)
    assert path.read_bytes() == before
    assert not [entry for entry in tmp_path.iterdir() if entry.name.endswith(".tmp")]


def test_sections_can_be_added(tmp_path, monkeypatch):
    extra = Section("debates", "Debates", lambda run: Markup("<p>pro and con</p>"))
    monkeypatch.setattr(page, "SECTIONS", (*SECTIONS, extra))
    text = checked(write_report(make_workdir(tmp_path)))
    assert "Debates pro and con" in text
