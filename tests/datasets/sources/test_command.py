"""`--mode=build`: what it writes, what it does when something stands there already."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.datasets.sources.corpora import write_files
from wikinav_jax.common.config import ConfigError, load_config
from wikinav_jax.common.files import read_json
from wikinav_jax.datasets.building.build import CorpusBuild
from wikinav_jax.datasets.building.source import SourceOptions
from wikinav_jax.datasets.catalog import load_graph
from wikinav_jax.datasets.sources import command
from wikinav_jax.datasets.sources.folder import FolderSource
from wikinav_jax.graph.store import open_graph

ROOT = Path(__file__).resolve().parents[3]
DOCS = {
    "index.md": "# Home\nSee [one](one.md), [[Two]].",
    "one.md": "# One\nBack [home](index.md).",
    "two.md": "# Two\nTwo follows One.",
}


@pytest.fixture
def docs(tmp_path) -> Path:
    return write_files(tmp_path / "docs", DOCS)


def build(docs: Path, output: Path, **options) -> None:
    config = load_config(str(ROOT / "configs" / "build_wiki.py"))
    config.update({"source": str(docs), "output": str(output), "workers": 1, **options})
    command.run(config, None, "build")


def test_a_build(docs, tmp_path, capsys):
    output = tmp_path / "graph"
    build(docs, output)
    printed = capsys.readouterr().out
    assert "articles" in printed
    assert f"Plots: {output / 'overview.html'}" in printed
    graph = open_graph(output, verify=True)
    assert graph.article_titles == ["Home", "One", "Two"]
    assert graph.meta["markdown"]["counts"]["articles"] == 3
    assert graph.meta["distributions"]["words_per_block"]["counts"]
    assert "--config.source=docs" in graph.meta["command"]
    html = (output / "overview.html").read_text(encoding="utf-8")
    for part in ("Links of a block", "Words per block", "Shortest paths", "Blocks of an article"):
        assert part in html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "graph"]  # nothing left


def test_a_graph_that_stands_already(docs, tmp_path, capsys):
    output = tmp_path / "graph"
    build(docs, output)
    when = (output / "meta.json").stat().st_mtime_ns
    (output / "overview.html").unlink()
    capsys.readouterr()
    build(docs, output, workers=2)  # their number makes no other graph
    assert "is built already" in capsys.readouterr().out
    assert (output / "meta.json").stat().st_mtime_ns == when
    assert (output / "overview.html").exists()
    with pytest.raises(ConfigError, match=r"holds another graph .* or one of other options"):
        build(docs, output, target_words=50)
    (docs / "two.md").write_text("# Two\nchanged")
    with pytest.raises(ConfigError, match=r"--config.overwrite=True"):
        build(docs, output)
    build(docs, output, overwrite=True)
    assert "changed" in open_graph(output).text(2)


def test_other_things_are_never_replaced(docs, tmp_path):
    precious = write_files(tmp_path / "precious", {"letter.txt": "dear"})
    for overwrite in (False, True):
        with pytest.raises(ConfigError, match="holds something else than a whole graph"):
            build(docs, precious, overwrite=overwrite)
        with pytest.raises(ConfigError, match="is a file"):
            build(docs, precious / "letter.txt", overwrite=overwrite)
        with pytest.raises(ConfigError, match="holds something else"):
            build(docs, docs, overwrite=overwrite)
    assert (precious / "letter.txt").read_text() == "dear"
    (tmp_path / "empty").mkdir()
    build(docs, tmp_path / "empty")
    (tmp_path / "empty" / "indices.npy").write_bytes(b"cut")
    with pytest.raises(ConfigError, match="holds something else than a whole graph"):
        build(docs, tmp_path / "empty")
    build(docs, tmp_path / "empty", overwrite=True)  # a damaged graph may be
    assert open_graph(tmp_path / "empty").num_articles == 3


def test_files_in_the_way(docs, tmp_path):
    file = write_files(tmp_path, {"letter.txt": "dear"}) / "letter.txt"
    for output in (file, file / "graph"):
        with pytest.raises(ConfigError, match=rf"^config\.output={output}: .*is a file; name a"):
            build(docs, output)
    with pytest.raises(ConfigError, match=rf"^config\.cache_dir={file}: it is a file"):
        build(docs, tmp_path / "graph", cache_dir=str(file))
    assert not (tmp_path / "graph").exists()


def test_an_output_inside_the_source(docs, tmp_path):
    (tmp_path / "link").symlink_to(docs)
    for output in (docs / "graph", docs / "new" / "graph", tmp_path / "link" / "graph"):
        with pytest.raises(ConfigError, match=rf"output={output} lies inside the corpus itself"):
            build(docs, output)
    assert sorted(path.name for path in docs.iterdir()) == sorted(DOCS)
    build(docs / ".." / "docs", tmp_path / "docs.graph")  # beside it, by a similar name


def test_what_cannot_be(docs, tmp_path):
    config = load_config(str(ROOT / "configs" / "build_wiki.py"))
    config.source = str(docs)
    with pytest.raises(ConfigError, match=r"config.output is empty"):
        command.run(config, None, "build")
    with pytest.raises(ConfigError, match="give --mode=build, not 'train'"):
        command.run(config, tmp_path, "train")
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="holds no HTML"):
        build(tmp_path / "none", tmp_path / "out")
    write_files(tmp_path / "blank", {"a.md": " ", "b.md": "---\n"})
    with pytest.raises(ValueError, match="has no article with any text: of 2 pages"):
        build(tmp_path / "blank", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_interrupted_build_goes_on(tmp_path):
    pages = {f"p{i:02}.md": f"# Page {i}\n" + f"word{i} " * 2_000 for i in range(40)}
    site = write_files(tmp_path / "site", pages)

    def new_build() -> CorpusBuild:
        source = FolderSource(site, "markdown")
        return CorpusBuild(source, tmp_path / "spill", options=SourceOptions(), workers=1)

    build = new_build()
    num_chunks = build.parse()
    heads = sorted(build.folder.rglob("*.json"))
    assert num_chunks == len(heads) >= 2
    heads[-1].unlink()  # as if killed before the last chunk
    when = heads[0].stat().st_mtime_ns
    again = new_build()
    assert again.parse() == num_chunks
    assert heads[0].stat().st_mtime_ns == when
    assert again.report() == build.report()


def test_from_the_command_line(docs, tmp_path):
    def main(*arguments: str) -> subprocess.CompletedProcess:
        command_line = [sys.executable, "-m", "wikinav_jax.main", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command_line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    config = "--config=configs/build_wiki.py"
    done = main("--mode=build", config, f"--config.source={docs}", f"--config.output={tmp_path}/g")
    assert done.returncode == 0, done.stderr
    assert "Graph:" in done.stdout
    assert open_graph(tmp_path / "g").num_articles == 3
    failed = main("--mode=build", config, "--config.sourc=x")
    assert failed.returncode == 2
    assert "Near names: source" in failed.stderr


def test_data_sets(docs, tmp_path):
    options = {"source": str(docs), "workers": 1}
    graph = load_graph("corpus", cache_dir=tmp_path / "cache", options=options)
    assert graph.path is not None
    again = load_graph("corpus", cache_dir=tmp_path / "cache", options=options)
    assert again.path == graph.path
    built = load_graph("linked_text", cache_dir=tmp_path, options={"path": str(graph.path)})
    assert built.article_titles == ["Home", "One", "Two"]
    with pytest.raises(ValueError, match="path is empty"):
        load_graph("linked_text", cache_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="is no saved graph"):
        load_graph("linked_text", cache_dir=tmp_path, options={"path": str(docs)})


def test_configs():
    corpus = load_config(str(ROOT / "configs" / "corpus.py"))
    built = load_config(f"{ROOT / 'configs' / 'corpus.py'}:built")
    assert corpus.dataset.name == "corpus"
    assert built.dataset.name == "linked_text"
    with pytest.raises(ConfigError, match="give :source or :built"):
        load_config(f"{ROOT / 'configs' / 'corpus.py'}:x")


def test_meta_is_the_same_twice(docs, tmp_path):
    for name in ("one", "two"):
        build(docs, tmp_path / name)
    one, two = (read_json(tmp_path / name / "meta.json") for name in ("one", "two"))
    assert one == two
