"""Stands in for gcloud: writes down how it was called, and answers as the test's plan says.

The folder of the environment variable STAND_IN holds `plan.json`: "states" are answered one after
the other to `describe` (the last one for ever), "statuses" likewise end the training on the hosts.
"HOST" is the home of the only host, on which commands are run by bash, as sshd would.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ["STAND_IN"])


def take(name: str) -> object:
    """The next answer of that name."""
    plan = json.loads((FOLDER / "plan.json").read_text())
    first, *rest = plan[name]
    plan[name] = rest or [first]
    (FOLDER / "plan.json").write_text(json.dumps(plan))
    return first


def main(argv: list[str]) -> int:
    with open(FOLDER / "calls.jsonl", "a") as log:
        log.write(json.dumps(argv) + "\n")
    if argv[:4] == ["compute", "tpus", "queued-resources", "describe"]:
        state = take("states")
        if state == "NONE":
            print("ERROR: NOT_FOUND: Resource was not found", file=sys.stderr)
            return 1
        print(state)
    if argv[:4] == ["compute", "tpus", "tpu-vm", "ssh"]:
        command = next(part for part in argv if part.startswith("--command="))[10:]
        if "wikinav_jax.main" in command:
            host = {**os.environ, "HOME": os.environ["HOST"]}
            ran = subprocess.run(["bash", "-c", command], env=host, check=False)
            return int(take("statuses")) or ran.returncode
        return int(take("ready")) if "mountpoint -q" in command and "tar" not in command else 0
    return 0


sys.exit(main(sys.argv[1:]))
