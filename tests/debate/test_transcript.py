"""Debates written down: names, strongest first, staying left out, labels; explain's claims."""

from __future__ import annotations

import numpy as np
import pytest

from tests.debate.graphs import make_graph
from wikinav_jax.common.config import ConfigError
from wikinav_jax.debate.data import Labelled
from wikinav_jax.debate.evaluate import Debated, Verdicts
from wikinav_jax.debate.explain import find_triple
from wikinav_jax.debate.quiz import choose_claims
from wikinav_jax.debate.transcript import transcribe
from wikinav_jax.debate.types import Arguments
from wikinav_jax.reports.debates import parse_debate

KG = make_graph()


def claim() -> np.ndarray:
    return find_triple(KG, "person01|citizen of|Land 2")


def debated() -> Debated:
    """One claim, two rollouts, one round of two steps."""
    person, city = KG.find_entity("person01"), KG.find_entity("city02")
    land = KG.find_entity("land2")
    lives, lies = KG.find_relation("lives in"), KG.find_relation("lies in")
    home = ([lives, lies], [city, land])
    waits = ([KG.stay, lives], [person, city])
    lives_only = ([lives, KG.stay], [city, city])
    nothing = ([KG.stay, KG.stay], [person, person])
    said = [[home, waits], [lives_only, nothing]]  # [R][A]
    relation, entity = (np.array([[[a[i] for a in r] for r in said]]) for i in range(2))
    verdicts = Verdicts(
        logit=np.array([[2.0, 0.0]]),
        pro_logit=np.array([[3.0, 3.0]]),
        con_logit=np.array([[-3.0, -3.0]]),
        scores=np.array([[[1.5, -0.5], [0.5, 0.25]]]),
    )
    return Debated(verdicts, Arguments(relation, entity))


def test_what_is_written_down():
    (entry,) = transcribe(KG, claim(), debated(), threshold=0.4, labels=np.array([1.0]))
    debate = parse_debate(entry)
    assert (debate.subject.name, debate.object.name) == ("person01", "Land 2")
    assert debate.relation.name == "citizen of"
    assert debate.label is True
    assert debate.probability == pytest.approx((1 / (1 + np.exp(-2)) + 0.5) / 2)
    assert debate.verdict and debate.is_right
    assert debate.without_con == pytest.approx(1 / (1 + np.exp(-3)))
    assert debate.without_pro == pytest.approx(1 / (1 + np.exp(3)))
    assert [item.score for item in debate.pro] == [1.5, 0.5]
    assert [hop.relation for hop in debate.pro[0].hops] == ["lives in", "lies in"]
    assert [hop.is_object for hop in debate.pro[0].hops] == [False, True]
    assert [hop.entity.name for hop in debate.pro[1].hops] == ["city02"]  # staying is no step
    assert [item.score for item in debate.con] == [-0.5, 0.25]  # the worst for the claim first
    assert debate.con[1].hops == ()


def test_the_same_path_is_listed_once_with_its_count():
    found = debated()
    twice = Arguments(
        np.repeat(found.arguments.relation[:, :1], 2, axis=1),
        np.repeat(found.arguments.entity[:, :1], 2, axis=1),
    )
    (entry,) = transcribe(KG, claim(), Debated(found.verdicts, twice), threshold=0.5)
    assert [(item["score"], item["count"]) for item in entry["pro"]] == [(1.5, 2)]
    assert entry["label"] is None


def test_arguments_must_have_been_kept():
    with pytest.raises(ValueError, match="keep_arguments=True"):
        transcribe(KG, claim(), Debated(debated().verdicts, None), threshold=0.5)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("person01|citizen of", ConfigError, "2 parts"),
        ("person01|citizen of|Land 9", KeyError, "Did you mean.*Land"),
        ("persn01|citizen of|Land 2", KeyError, "Did you mean.*person01"),
        ("person01|citizn of|Land 2", KeyError, "Did you mean 'citizen of'"),
    ],
)
def test_claims_that_cannot_be_found(text, error, message):
    with pytest.raises(error, match=message):
        find_triple(KG, text)


def test_claims_by_id_name_and_tab():
    np.testing.assert_array_equal(find_triple(KG, "person01\tcitizen of\tland2"), claim())
    np.testing.assert_array_equal(find_triple(KG, " person01 | CITIZEN OF | land 2 "), claim())


def test_a_quiz_is_half_true():
    labels = np.array([1.0] * 30 + [0.0] * 10)
    labelled = Labelled(np.arange(120).reshape(40, 3), labels, True)
    chosen = choose_claims(labelled, 7, seed=1)
    assert chosen.labels.sum() == 4
    assert len(chosen.labels) == 7
    again = choose_claims(labelled, 7, seed=1)
    np.testing.assert_array_equal(chosen.triples, again.triples)
