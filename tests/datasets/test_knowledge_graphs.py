"""Knowledge graphs: folder layouts, names, labels, and what is refused or noted by line."""

from __future__ import annotations

import dataclasses
import json
import tarfile
from pathlib import Path

import pytest

from wikinav_jax.datasets import knowledge_graphs
from wikinav_jax.datasets.knowledge_graphs import (
    LOADERS,
    contents_of,
    load_knowledge_graph,
    short_paths,
)
from wikinav_jax.datasets.knowledge_graphs_sources import SOURCES
from wikinav_jax.graph.triples import KnowledgeGraph

TRAIN = "a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\n"
VALID = "a\tlikes\tc\n"
TEST = "b\tknows\ta\n"
BASE = {"train.txt": TRAIN, "valid.txt": VALID, "test.txt": TEST}


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def load(folder: Path, **options) -> KnowledgeGraph:
    return load_knowledge_graph(
        "folder", data_dir=folder, cache_dir=folder.parent / "cache", options=options
    )


def spoken(graph: KnowledgeGraph, triples) -> list[tuple[str, str, str]]:
    return [(graph.entities[s], graph.relations[p], graph.entities[o]) for s, p, o in triples]


@pytest.mark.parametrize(
    "renamed",
    [
        {"valid.txt": "dev.txt"},
        {"valid.txt": "validation.tsv", "test.txt": "TEST.TSV".lower()},
        {"train.txt": "train", "valid.txt": "valid", "test.txt": "test"},
        {name: f"graph/{name}" for name in BASE},
        {"train.txt": "train_triples.txt", "valid.txt": "valid-set.tsv"},
        {name: name.upper() for name in BASE},
        {name: f"labelled test graph/{name}" for name in BASE} | {"README.md": "README.md"},
    ],
)
def test_plausible_names_of_the_splits(renamed, tmp_path):
    files = {renamed.get(name, name): content for name, content in BASE.items()}
    graph = load(write(tmp_path / "kg", files))
    assert spoken(graph, graph.train) == [tuple(x.split("\t")) for x in TRAIN.splitlines()]
    assert spoken(graph, graph.valid) == [("a", "likes", "c")]
    assert spoken(graph, graph.test) == [("b", "knows", "a")]
    assert graph.labelled("test") is None
    assert graph.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        "test_negatives.txt",
        "test_neg.tsv",
        "neg_test.txt",
        "negative-test.tsv",
        "test.negatives.txt",
        "hard_negatives_test.txt",
        "negatives/test.txt",
        "false_test.txt",
    ],
)
def test_plausible_names_of_negatives(name, tmp_path):
    graph = load(write(tmp_path / "kg", {**BASE, name: "c\tlikes\ta\n"}))
    triples, labels = graph.labelled("test")
    assert spoken(graph, triples) == [("b", "knows", "a"), ("c", "likes", "a")]
    assert labels.tolist() == [1, 0]
    assert graph.labelled("valid") is None
    assert len(graph.test) == 1


@pytest.mark.parametrize("name", ["test_labelled.txt", "r2d2_test_labeled.txt", "labeled/test.tsv"])
@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("1", "-1"), ("True", "false"), ("1.0", "0.0")]
)
def test_a_labelled_file_beside_the_split(name, yes, no, tmp_path):
    content = f"b\tknows\ta\t{yes}\nc\tlikes\ta\t{no}\n"
    graph = load(write(tmp_path / "kg", {**BASE, name: content}))
    triples, labels = graph.labelled("test")
    assert spoken(graph, triples) == [("b", "knows", "a"), ("c", "likes", "a")]
    assert labels.tolist() == [1, 0]


def test_labels_in_the_split_itself(tmp_path):
    files = {"dev.txt": "a\tlikes\tc\t1\na\tlikes\ta\t-1\n", "test.txt": "b\tknows\ta\t1\n"}
    graph = load(write(tmp_path / "kg", {"train.txt": TRAIN, **files}))
    assert spoken(graph, graph.valid) == [("a", "likes", "c")]
    triples, labels = graph.labelled("valid")
    assert (len(triples), labels.tolist()) == (2, [1, 0])


def test_labelled_files_instead_of_the_splits(tmp_path):
    files = {
        "dev_labelled.tsv": "a\tlikes\tc\t1\nc\tlikes\ta\t0\n",
        "test_labelled.tsv": "b\tknows\ta\t1\nc\tknows\tb\t0\n",
    }
    graph = load(write(tmp_path / "kg", {"train.txt": TRAIN, **files}))
    assert spoken(graph, graph.test) == [("b", "knows", "a")]
    assert graph.labelled("valid")[1].tolist() == [1, 0]


def test_names_and_descriptions(tmp_path):
    files = {
        "entity_names.tsv": "a\tAnn\tQ1\tsinger from Rome\nb\tBöb\n",
        "relation2text.txt": "likes\tis fond of\n",
        "entity_types.tsv": "a\thuman\nb\tdog\n",
    }
    graph = load(write(tmp_path / "kg", {**BASE, **files}))
    assert graph.entity_names == ("Ann", "Böb", "c")
    assert graph.entity_texts == ("singer from Rome", "dog", "")
    assert graph.relation_names == ("knows", "is fond of")
    assert graph.find_entity("böb") == 1


def test_names_in_json(tmp_path):
    names = {"a": {"label": "Ann", "description": "a singer"}, "b": {"label": ""}}
    files = {"entities.json": json.dumps(names), "relations.json": '{"likes": "fond of"}'}
    graph = load(write(tmp_path / "kg", {**BASE, **files}))
    assert graph.entity_names == ("Ann", "b", "c")
    assert graph.entity_texts[0] == "a singer"
    assert graph.relation_names[1] == "fond of"
    (tmp_path / "kg" / "entities.json").write_text("{")
    with pytest.raises(ValueError, match=r"entities\.json is not valid JSON"):
        load(tmp_path / "kg")


def test_ids_may_be_any_text(tmp_path):
    odd = ["東京", "a b", "x\u2028y", "p|q", '"', "x\x85", "<b>"]
    train = "".join(f"{odd[i]}\tr\u2009s\t{odd[i - 1]}\r\n" for i in range(len(odd)))
    files = {"train.txt": "\ufeff" + train, "valid.txt": "東京\tr\u2009s\ta b", "test.txt": TEST}
    graph = load(write(tmp_path / "kg", {**files, "test.txt": "東京\tr\u2009s\tp|q\n\n"}))
    assert set(graph.entities) == set(odd)
    assert len(graph.train) == len(odd)


def test_ids_and_names_may_begin_and_end_with_spaces(tmp_path):
    files = {
        "train.txt": " a\tr\tb \n",
        "entity_names.tsv": " a\tAnna \tof Rome\na\tAlf\n c \tCid\n",
        "relation_names.json": b"\xef\xbb\xbf" + json.dumps({"r": " sees "}).encode(),
    }
    graph = load(write(tmp_path / "kg", {**BASE, **files}))
    assert graph.entities[0] == " a"
    assert (graph.entity_names[0], graph.entity_texts[0]) == ("Anna", "of Rome")
    assert graph.entity_names[graph.find_entity("a")] == "Alf"
    assert graph.entity_names[graph.find_entity("c")] == "Cid"
    assert graph.find_entity("anna") == graph.find_entity(" a") == 0
    assert graph.entities[graph.find_entity("b ")] == "b "
    assert graph.entities[graph.find_entity("b")] == "b"  # BASE has one without a space
    assert graph.relation_names[graph.find_relation("sees")] == " sees "


def test_the_folder_that_one_stands_in_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path / "mine", BASE))
    graph = load_knowledge_graph("folder", data_dir=Path("."), cache_dir=tmp_path / "cache")
    assert graph.name == "mine"


def test_an_archive_alone_or_in_a_folder(tmp_path):
    source = write(tmp_path / "mygraph", BASE)
    archive = tmp_path / "in" / "mygraph.tar.xz"
    archive.parent.mkdir()
    (archive.parent / "README.md").write_text("about the graph")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(source, arcname="mygraph")
    for data_dir in (archive, archive.parent):
        graph = load_knowledge_graph("folder", data_dir=data_dir, cache_dir=tmp_path / "cache")
        assert len(graph.train) == 3
        assert graph.name == "mygraph"


def test_a_header_is_left_out_and_noted(tmp_path):
    graph = load(write(tmp_path / "kg", {**BASE, "train.txt": "head\trelation\ttail\n" + TRAIN}))
    assert len(graph.train) == 3
    assert any("train.txt:1" in note and "header" in note for note in graph.notes)


def test_other_files_are_noted(tmp_path):
    files = {"graph.txt": TRAIN, "train_negatives.txt": "a\tlikes\ta\n", "README.md": "hello"}
    graph = load(write(tmp_path / "kg", {**BASE, **files}))
    assert any("not read: graph.txt, train_negatives.txt" in note for note in graph.notes)


# ---- What is noted ------------------------------


def note_with(graph: KnowledgeGraph, *parts: str) -> str:
    found = [note for note in graph.notes if all(part in note for part in parts)]
    assert len(found) == 1, graph.notes
    return found[0]


def test_repeats_are_left_out_with_their_lines(tmp_path):
    files = {**BASE, "train.txt": TRAIN + "b\tlikes\tc\na\tlikes\tb\n"}
    graph = load(write(tmp_path / "kg", files))
    assert len(graph.train) == 3
    note_with(graph, "train.txt:4", "line 2 already", "2 repeats left out")


def test_notes_and_errors_show_control_characters(tmp_path, caplog):
    evil = "a\x1b[31m\tlikes\tb\x9b2J\n"
    folder = write(tmp_path / "kg", {**BASE, "train.txt": TRAIN + evil, "valid.txt": evil})
    graph = load(folder)
    note_with(graph, "a␛[31m | likes | b\ufffd2J is also in")
    assert evil[:2] in graph.entities[graph.entities.index("a\x1b[31m")]  # the id is as it was
    with pytest.raises(ValueError, match="a␛\\[31m") as error:
        load(folder, leaks="refuse")
    for text in (*graph.notes, caplog.text, str(error.value)):
        assert not set("\x1b\x9b") & set(text)


def test_leaks_are_taken_out_of_train_by_default(tmp_path):
    folder = write(tmp_path / "kg", {**BASE, "test.txt": "c\tknows\ta\nb\tlikes\tc\nb\tknows\tc\n"})
    graph = load(folder)
    assert spoken(graph, graph.train) == [("a", "likes", "b")]
    assert len(graph.test) == 3
    note_with(graph, "test.txt:1", "train.txt:3", "2 such test triples left out of train")
    assert len(load(folder, leaks="keep").train) == 3
    with pytest.raises(ValueError, match=r"test\.txt:1: c | knows | a is also in .*train\.txt:3"):
        load(folder, leaks="refuse")


def test_unseen_entities_are_kept_noted_dropped_or_refused(tmp_path):
    folder = write(tmp_path / "kg", {**BASE, "valid.txt": VALID + "a\tlikes\tzed\na\tlike\tb\n"})
    graph = load(folder)
    assert len(graph.valid) == 3
    assert "zed" in graph.entities
    note_with(graph, "valid.txt:2", "'zed' does not occur in train", "2 such valid triples kept")
    assert len(load(folder, unseen="drop").valid) == 1
    with pytest.raises(ValueError, match=r"valid\.txt:2: the entity 'zed' does not occur in train"):
        load(folder, unseen="refuse")


def test_an_unknown_relation_is_met_with_a_near_one(tmp_path):
    graph = load(write(tmp_path / "kg", {**BASE, "valid.txt": "a\tlike\tb\n"}))
    note_with(graph, "valid.txt:1", "the relation 'like'", "Did you mean 'likes'")


def test_false_triples_that_are_facts_are_left_out(tmp_path):
    files = {**BASE, "test_negatives.txt": "c\tlikes\ta\na\tlikes\tb\n"}
    graph = load(write(tmp_path / "kg", files))
    assert graph.labelled("test")[1].tolist() == [1, 0]
    note_with(graph, "test_negatives.txt:2", "labelled false but is a fact", "1 such triple left")


@pytest.mark.parametrize(
    "files",
    [
        {"test.txt": "b\tknows\ta\t1\n"},
        {"test_labelled.tsv": "b\tknows\ta\ttrue\n"},
        {"test_negatives.txt": "b\tlikes\tc\n"},  # a fact of train
    ],
)
def test_without_false_triples_a_split_has_no_labels(files, tmp_path):
    graph = load(write(tmp_path / "kg", {**BASE, **files}))
    assert graph.labelled("test") is None
    assert len(graph.test) == 1
    note_with(graph, "has no false triple; negatives are drawn")


def test_labels_that_are_all_false_are_refused(tmp_path):
    files = {**BASE, "test_labelled.tsv": "c\tlikes\ta\t0\n"}
    with pytest.raises(ValueError, match=r"test_labelled.tsv labels no triple as true"):
        load(write(tmp_path / "kg", files))


def test_repeated_labelled_triples_are_kept(tmp_path):
    files = {**BASE, "test_labelled.txt": "b\tknows\ta\t1\nc\tlikes\ta\t0\nc\tlikes\ta\t0\n"}
    graph = load(write(tmp_path / "kg", files))
    assert graph.labelled("test")[1].tolist() == [1, 0, 0]
    note_with(graph, "test_labelled.txt:3", "1 repeat kept")


# ---- What is refused ------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.txt", "a\tb\n", r"train\.txt:1: 'a\\tb' has 2 columns, expected 3"),
        ("train.txt", TRAIN + "a b c\n", r"train\.txt:4: .* has 1 columns.*it has none"),
        ("train.txt", "a\tb\tc\n\na\tb\tc\t1\n", r"train\.txt:3: .* has 4 columns, expected 3 as"),
        ("train.txt", "a\tb\tc\td\te\n", r"train\.txt:1: .* has 5 columns"),
        ("train.txt", "a\t \tc\n", r"train\.txt:1: .* has an empty column"),
        (
            "train.txt",
            "a\tlikes\tb\t0\n",
            r"train\.txt:1: .* labelled false, but train holds facts",
        ),
        ("train.txt", "\n", r"train\.txt holds no triple"),
        ("valid.txt", "", r"valid\.txt holds no triple"),
        (
            "test.txt",
            b"a\tlikes\tb\nb\tlikes\t\xff\xfe\n",
            r"test\.txt:2: byte 9 .* 0xff, is not UTF",
        ),
        ("test.txt", "a\tlikes\tb\t7\n", r"test\.txt:1: the fourth column holds '7'"),
        ("test.txt", "a\tlikes\tb\t0\n", r"test\.txt labels no triple as true"),
        ("test_labelled.txt", "a\tlikes\tb\n", r"test_labelled\.txt:1 has no fourth column"),
        (
            "test_labelled.txt",
            "c\tlikes\tb\t1\nc\tlikes\tb\t0\n",
            r":2: .* labelled 0 here and 1 in",
        ),
        ("test_negatives.txt", "c\tlikes\tb\t1\n", r"test_negatives\.txt:1: .* labelled true"),
        ("test.tsv", TEST, r"test\.tsv and .*test\.txt both look like the splits of test"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(name, content, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load(write(tmp_path / "kg", {**BASE, name: content}))


def test_a_missing_split_is_named_with_what_is_there(tmp_path):
    folder = write(tmp_path / "kg", {"train.txt": TRAIN, "test.txt": TEST})
    with pytest.raises(
        FileNotFoundError, match=r"no valid\.txt .*dev\.txt.* test\.txt, train\.txt"
    ):
        load(folder)
    with pytest.raises(FileNotFoundError, match="nothing at data_dir"):
        load(tmp_path / "none")


def test_wrong_names_and_options_are_refused(tmp_path):
    folder = write(tmp_path / "kg", BASE)
    with pytest.raises(KeyError, match=r"Did you mean 'wn18rr'"):
        load_knowledge_graph("wn18r", data_dir=folder, cache_dir=tmp_path)
    with pytest.raises(ValueError, match=r"no option 'leak'. Did you mean 'leaks'"):
        load(folder, leak="keep")
    with pytest.raises(ValueError, match="leaks='drop' is not one of"):
        load(folder, leaks="drop")
    with pytest.raises(FileNotFoundError, match=r"holds kg\..*a folder nations or an archive"):
        load_knowledge_graph("nations", data_dir=tmp_path, cache_dir=tmp_path / "cache")
    with pytest.raises(FileNotFoundError, match=r"umls is not downloaded .* data_dir"):
        load_knowledge_graph("umls", data_dir=None, cache_dir=tmp_path)


# ---- The named graphs ------------------------------


def test_a_named_graph_is_found_beside_others_and_in_kg(tmp_path):
    write(tmp_path / "data" / "kg" / "Nations", BASE)
    write(tmp_path / "data" / "other", BASE)
    graph = load_knowledge_graph("nations", data_dir=tmp_path / "data", cache_dir=tmp_path)
    assert graph.name == "nations"
    assert any("is not the public release" in note for note in graph.notes)


def test_what_is_downloaded_is_checked(tmp_path, monkeypatch):
    """The publisher's archive is unpacked and used only if its triples are those we know."""
    source = write(tmp_path / "files", BASE)

    def fetch(url: str, destination: Path, *, sha256: str | None) -> Path:
        assert url.endswith("/FB15k-237.tar.gz")
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(destination, "w:gz") as tar:
            for name in BASE:
                tar.add(source / name, arcname=name)
        return destination

    monkeypatch.setattr(knowledge_graphs, "fetch", fetch)
    with pytest.raises(ValueError, match="is not the release that this package knows"):
        load_knowledge_graph("fb15k237", cache_dir=tmp_path / "cache")
    expected = contents_of(load(source))
    known = dataclasses.replace(SOURCES["fb15k237"], contents=expected)
    monkeypatch.setitem(SOURCES, "fb15k237", known)
    graph = load_knowledge_graph("fb15k237", cache_dir=tmp_path / "cache")
    assert (graph.name, len(graph.train), graph.notes) == ("fb15k237", 3, ())


def test_short_names_of_freebase_relations():
    assert short_paths(
        [
            "/people/person/place_of_birth",
            "/film/film/genre",
            "/music/artist/genre",
            "/a/b/c./d/e/f_g",
            "/x/film/genre",
        ]
    ) == ("place of birth", "film film genre", "artist genre", "c, f g", "x film genre")


def test_wordnet_senses_and_relations_without_underscores(tmp_path):
    files = {
        "train.txt": "1\t_hypernym\t2\n2\t_hypernym\t3\n",
        "valid.txt": "1\t_hypernym\t3\n",
        "test.txt": "3\t_hypernym\t1\n",
        "r2d2_test_labeled.txt": "3\thypernym\t1\t1\n3\thypernym\t2\t0\n",
        "entity_names.tsv": "1\thot_dog.n.02\ta sausage in a bun\n2\tplain\n",
    }
    folder = write(tmp_path / "WN18RR", files)
    graph = load_knowledge_graph("wn18rr", data_dir=folder, cache_dir=tmp_path)
    assert graph.relations == ("_hypernym",)
    assert graph.relation_names == ("hypernym",)
    assert graph.entity_names == ("hot dog (noun 2)", "plain", "3")
    assert graph.labelled("test")[1].tolist() == [1, 0]


def test_countries_have_three_subsets(tmp_path):
    for subset in ("S1", "S2", "S3"):
        write(tmp_path / "countries" / subset, {**BASE, "valid.txt": f"a\tlikes\t{subset}_x\n"})
    graph = load_knowledge_graph(
        "countries", data_dir=tmp_path, cache_dir=tmp_path / "cache", options={"subset": "S2"}
    )
    assert graph.name == "countries_S2"
    assert "S2 x" in graph.entity_names
    with pytest.raises(ValueError, match="subset is one of S1, S2, S3"):
        load_knowledge_graph(
            "countries", data_dir=tmp_path, cache_dir=tmp_path, options={"subset": "S4"}
        )


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "labelled"),
    [
        ("fb15k237", (14541, 237, 272115, 17535, 20466), (34355, 40129)),
        ("wn18rr", (40943, 11, 86835, 3034, 3134), (6068, 6268)),
        ("codex_s", (2034, 42, 32888, 1827, 1828), (3654, 3656)),
        ("nations", (14, 55, 1592, 199, 201), None),
        ("umls", (135, 46, 5216, 652, 661), None),
    ],
)
def test_the_public_graphs(name, sizes, labelled, real_data, tmp_path):
    graph = load_knowledge_graph(name, data_dir=real_data, cache_dir=tmp_path)
    counts = (len(graph.train), len(graph.valid), len(graph.test))
    assert (graph.num_entities, graph.num_relations, *counts) == sizes
    assert contents_of(graph) == SOURCES[name].contents
    if labelled is not None:
        assert tuple(len(graph.labelled(split)[0]) for split in ("valid", "test")) == labelled
        for split in ("valid", "test"):
            triples, labels = graph.labelled(split)
            assert (graph.known.contain(triples) == (labels == 1)).all()


def test_every_public_graph_has_a_loader():
    assert set(SOURCES) | {"folder"} == set(LOADERS)
