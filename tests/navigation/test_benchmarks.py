import json
import sys

import numpy as np
import pytest

from benchmarks import train_navigation
from benchmarks.navigation_data import synthetic_graph, synthetic_vectors
from wikinav_jax.graph.linked_text import EdgeKind


def test_the_synthetic_graph_has_the_size_and_the_hubs_it_says():
    graph = synthetic_graph(3_000, 9_000, seed=0)
    assert graph.num_nodes == 3_000 and graph.num_articles == 100
    assert graph.num_edges == 9_000
    local = graph.edge_kind >= EdgeKind.NEXT
    assert local.sum() == 2 * 100 * 29
    source = np.repeat(np.arange(3_000), graph.out_degree)
    assert (graph.article[source[local]] == graph.article[graph.indices[local]]).all()
    in_degree = np.bincount(graph.indices[~local], minlength=3_000)
    assert in_degree.max() > 3 * in_degree[::30].mean()  # links lead to first blocks, unevenly
    assert in_degree.sum() == in_degree[::30].sum()
    rows = synthetic_vectors(3_000, 8, seed=0)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_training_is_timed_and_a_missing_twin_is_said(tmp_path, capfd):
    path = tmp_path / "result.json"
    result = train_navigation.main(
        [
            *("--policy", "similarity", "--nodes", "600", "--edges", "2000", "--width", "8"),
            *("--shards", "4", "--decisions", "16", "--steps", "3", "--rounds", "2"),
            *("--torch-python", "/bin/false", "--json", str(path)),
        ]
    )
    out, err = capfd.readouterr()
    assert "has no torch, so there is no twin to compare with" in err
    assert "similarity: batches of 4 x 16 decisions" in out
    assert json.loads(path.read_text()) == json.loads(json.dumps(result))
    (row,) = result["rows"]
    assert row["side"].startswith("jax")
    assert 0 < row["decisions_per_second_median"] <= row["decisions_per_second_best"]
    assert "times_torch_wall" not in result
    assert 0 < row["last_loss"] < 2 * row["first_loss"]


@pytest.mark.skipif(not train_navigation.has_torch(sys.executable), reason="torch is not installed")
@pytest.mark.parametrize("policy", ["similarity", "feed_forward"])
def test_the_twin_is_the_same_model(policy):
    result = train_navigation.main(
        [
            *("--policy", policy, "--nodes", "600", "--edges", "2000", "--width", "8"),
            *("--decisions", "16", "--steps", "3", "--rounds", "1", "--dropout", "0"),
        ]
    )
    ours, theirs = result["rows"]
    # Without dropout the two sides stay together for some updates.
    assert ours["last_loss"] == pytest.approx(theirs["last_loss"], rel=1e-2)
