"""Where links land, on sentences whose answer a reader would give."""

from __future__ import annotations

import pytest

from wikinav_jax.datasets.link_placement import LinkPlacer


def place(
    passages: list[str],
    targets: list[str],
    *,
    ranks: list[int] | None = None,
    others: tuple[str, ...] = (),
    names: dict[str, tuple[str, ...]] | None = None,
) -> tuple[dict[str, str], list[str]]:
    """{target: the sentence with its anchor in brackets}, and the targets without a place."""
    placer = LinkPlacer({"Here": (), **dict.fromkeys((*targets, *others), ()), **(names or {})})
    placer.add("Here", passages, ranks or [0] * len(passages), targets)
    ((title, placements, unplaced),) = placer.placements()
    assert title == "Here"
    return {p.target: _bracketed(passages[p.passage], p.start, p.end) for p in placements}, unplaced


def _bracketed(text: str, start: int, end: int) -> str:
    return f"{text[:start]}[{text[start:end]}]{text[end:]}"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("Gas giant", "It is a [gas giant] of some size."),
        ("Gas giant", "Two [gas giants] orbit it."),
        ("Gas giant", "The [gas-giant] theory."),
        ("Boat", "Ships and ([boats])."),
        ("Country", "Many [countries] of the east."),
        ("Fisherman", "Some [fishermen] slept."),
        ("Potato", "Fried [potatoes]."),
        ("Denver, Colorado", "He moved to [Denver], a city."),
        ("Denver, Colorado", "He moved to [Denver, Colorado], a city."),
        ("Cell (biology)", "The [cell] divides."),
        ("Henry VIII of England", "King [Henry VIII] wed."),
        ("Tamil language", "In [Tamil]: a word."),
        ("St Paul's Cathedral", "Under the dome of [St Paul's Cathedral]."),
        ("AT&T", "He worked for [AT&T]."),
        ("Île Étrange", "The [Île Étrange] is far."),
        ("Gas giant", "It is a\n[gas\ngiant] of some size."),
        ("Gas giant", "It is á\n[gas\ngiant] of some size."),
        ("İzmir", "From İİ to [İzmir] by boat."),
        ("جزيرة غريبة", "نحن في [جزيرة غريبة] الآن."),
    ],
)
def test_a_title_in_the_text(target: str, text: str):
    assert place([text.replace("[", "").replace("]", "")], [target]) == ({target: text}, [])


def test_parts_of_words_are_no_mentions():
    assert place(["A caravan and an oscar."], ["Car"]) == ({}, ["Car"])


def test_the_first_mention_counts_but_running_text_goes_first():
    passages = ["Tin", "The trade in tin, and tin again.", "More tin."]
    assert place(passages, ["Tin"], ranks=[1, 0, 0])[0] == {
        "Tin": "The trade in [tin], and tin again."
    }
    assert place(passages, ["Tin"])[0] == {"Tin": "[Tin]"}


def test_a_mention_inside_a_longer_title_comes_last():
    passages = ["He left South Africa.", "He came to Africa."]
    for others in ((), ("South Africa",)):
        expected = passages[0].replace("Africa", "[Africa]")
        if others:
            expected = passages[1].replace("Africa", "[Africa]")
        assert place(passages, ["Africa"], others=others)[0] == {"Africa": expected}
    # If there is no other, it is taken all the same.
    assert place(passages[:1], ["Africa"], others=("South Africa",))[0] == {
        "Africa": "He left South [Africa]."
    }


def test_no_two_links_share_a_word():
    placed, unplaced = place(["Grey Sea trade on the sea."], ["Sea", "Grey Sea"])
    assert placed == {
        "Grey Sea": "[Grey Sea] trade on the sea.",
        "Sea": "Grey Sea trade on the [sea].",
    }
    assert not unplaced
    assert place(["The Grey Sea."], ["Sea", "Grey Sea"]) == (
        {"Grey Sea": "The [Grey Sea]."},
        ["Sea"],
    )


def test_two_articles_of_one_name_take_turns():
    titles = ["Georgia (country)", "Georgia (state)"]
    placed, _ = place(["Georgia is not Georgia."], titles)
    assert sorted(placed.values()) == ["Georgia is not [Georgia].", "[Georgia] is not Georgia."]


def test_other_names_given():
    assert place(["The colour of sand."], ["Color"], names={"Color": ("Colour",)})[0] == {
        "Color": "The [colour] of sand."
    }


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("Christianity", "A [Christian] feast."),
        ("Bird migration", "They [migrate] in autumn."),
        ("Volcano", "Of [volcanic] origin."),
        ("Rain", "The yearly [rainfall]."),
        ("Galileo Galilei", "A moon that [Galileo] saw."),
        ("New York City", "The streets of [New York] by night."),
        ("World War II", "After the Second [World War], in peace."),
    ],
)
def test_relatives_of_the_title(target: str, text: str):
    assert place([text.replace("[", "").replace("]", "")], [target]) == ({target: text}, [])


def test_the_passage_with_most_words_of_the_title():
    passages = ["The president of a club.", "A prime minister.", "A president united them."]
    assert place(passages, ["President of the United States"])[0] == {
        "President of the United States": "A [president united] them."
    }


def test_an_alias_is_learned_from_the_articles_that_use_it():
    names = dict.fromkeys(
        ["Netherlands", *(f"A{i}" for i in range(5)), *(f"B{i}" for i in range(9))], ()
    )
    placer = LinkPlacer(names)
    placer.add("Netherlands", ["The Netherlands is the Dutch kingdom by the sea."], [0], [])
    for i in range(5):
        placer.add(
            f"A{i}", [f"The {i} ships by the sea.", "A Dutch master."], [0, 0], ["Netherlands"]
        )
    for i in range(9):
        placer.add(f"B{i}", ["The kingdom by the sea is far."], [0], [])
    results = {title: (placements, unplaced) for title, placements, unplaced in placer.placements()}
    for i in range(5):
        ((placement,), unplaced) = results[f"A{i}"]
        assert (placement.target, placement.how, placement.passage) == ("Netherlands", "alias", 1)
        assert "A Dutch master."[placement.start : placement.end] == "Dutch"
        assert not unplaced


def test_too_few_articles_teach_no_alias():
    placer = LinkPlacer(dict.fromkeys(["Netherlands", "A", "B"], ()))
    placer.add("Netherlands", ["The Netherlands is the Dutch kingdom."], [0], [])
    for title in ("A", "B"):
        placer.add(title, ["A Dutch master."], [0], ["Netherlands"])
    assert [unplaced for _, _, unplaced in placer.placements()] == [
        [],
        ["Netherlands"],
        ["Netherlands"],
    ]


def test_link_share():
    placer = LinkPlacer(dict.fromkeys(["Queen (band)", "Isaac Newton", "A", "B", "C"], ()))
    placer.add("A", ["The queen and Isaac Newton."], [0], ["Isaac Newton"])
    placer.add("B", ["A Queen."], [0], ["Queen (band)"])
    placer.add("C", ["The queen, the Queen, the queens."], [0], [])
    assert placer.link_share("Queen", "Queen (band)") == pytest.approx(1 / 3)
    assert placer.link_share("isaac newton", "Isaac Newton") == 1
    assert placer.link_share("Nobody", "Isaac Newton") == 0


def test_odd_articles():
    assert place([], ["Tin"]) == ({}, ["Tin"])
    assert place([""], ["Tin"]) == ({}, ["Tin"])
    assert place(["..."], []) == ({}, [])
    assert place(["Tin."], ["Tin", "Tin"]) == ({"Tin": "[Tin]."}, [])
    assert place(["?!"], ["?!"]) == ({}, ["?!"])


def test_errors():
    with pytest.raises(ValueError, match="no titles"):
        LinkPlacer({})
    with pytest.raises(ValueError, match="1 ranks for 2 passages"):
        LinkPlacer({"A": ()}).add("A", ["a", "b"], [0], [])
