"""Debates made up for the tests of pages."""

from __future__ import annotations

from typing import Any


def make_debate(number: int = 0, label: bool | None = True, **changes: Any) -> dict[str, Any]:
    """An entry of debates.json."""

    def thing(name: str) -> dict[str, str]:
        return {"id": f"id-{name}", "name": name, "text": f"about {name}"}

    def hop(relation: str, name: str, **flags: bool) -> dict[str, Any]:
        return {
            "relation": relation,
            "entity": thing(name),
            "is_subject": flags.get("is_subject", False),
            "is_object": flags.get("is_object", False),
        }

    subject, home = f"Person {number}", f"City {number}"
    through = [hop("lives in", home), hop("lies in", "Land", is_object=True)]
    back = [hop("lives in", home), hop("has resident", subject, is_subject=True)]
    return {
        "subject": thing(subject),
        "relation": {"id": "citizen", "name": "citizen of"},
        "object": thing("Land"),
        "label": label,
        "probability": 0.8 if number % 2 == 0 else 0.3,
        "threshold": 0.5,
        "rollouts": 20,
        "silenced": {"con": 0.9, "pro": 0.2},
        "pro": [{"score": 2.5, "count": 3, "hops": through}],
        "con": [
            {"score": -1.25, "count": 1, "hops": back},
            {"score": 0.0, "count": 1, "hops": []},
        ],
        **changes,
    }
