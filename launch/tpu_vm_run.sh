#!/usr/bin/env bash
# Runs an experiment on all hosts of a TPU, and again after each preemption, until it is done.
# A run goes on from its last checkpoint in the bucket. Start this where it can stay for days
# (tmux on a small VM): it holds the connection, and asks for a new TPU when one is taken away.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/tpu_environment.sh
# shellcheck disable=SC2034  # read by read_options
TPU_USAGE="Usage: launch/tpu_vm_run.sh --name=NAME --zone=ZONE --bucket=BUCKET [options] \\
    --run=RUN -- --config=configs/full_wiki.py [flags of wikinav_jax.main]
The workdir is gs://BUCKET/runs/RUN. Paths of data: the hosts have gs://BUCKET/data as config.data_dir
and its cache folder as the cache.
  --run=RUN          name of the run
  --max-restarts=N   after so many the script gives up [100]"
run_name="" max_restarts=100
options=()
while [ "$#" -gt 0 ]; do
  case "$1" in
    --run=*) run_name="${1#*=}" ;;
    --max-restarts=*) max_restarts="${1#*=}" ;;
    --) break ;;
    *) options+=("$1") ;;
  esac
  shift
done
read_options "${options[@]}" "$@"
check_name --run "$run_name"
case "$max_restarts" in
  "" | *[!0-9]*) die "--max-restarts=$max_restarts is not a number" ;;
esac
case " ${TPU_REST[*]} " in
  *" --config="*) ;;
  *) die "--config is missing behind --; see $TPU_SELF --help" ;;
esac
for argument in "${TPU_REST[@]}"; do
  case "$argument" in
    --workdir* | --coordinator* | --num_processes* | --process_id*)
      die "$argument is set by this script; leave it out" ;;
  esac
done

shared=(--name="$TPU_NAME" --zone="$TPU_ZONE" --bucket="$TPU_BUCKET" --type="$TPU_TYPE"
  --runtime="$TPU_RUNTIME")
if [ -n "$TPU_PROJECT" ]; then shared+=(--project="$TPU_PROJECT"); fi
if [ "$TPU_SPOT" = 0 ]; then shared+=(--on-demand); fi
if [ "$TPU_DRY_RUN" = 1 ]; then shared+=(--dry-run); fi

# Each flag quoted once for the shell of the host. Processes of an attempt that lost its
# connection would hold the TPU, so they are ended first, by their saved ids.
# shellcheck disable=SC2016
train='set -eu
cd "$HOME/wikinav_jax"
ours() { tr "\0" " " < "/proc/$1/cmdline" 2>/dev/null | grep -q wikinav_jax.main; }
if [ -f "$HOME/wikinav_jax.pid" ] && ours "$(cat "$HOME/wikinav_jax.pid")"; then
  kill -TERM "$(cat "$HOME/wikinav_jax.pid")" && sleep 20
  ! ours "$(cat "$HOME/wikinav_jax.pid")" || kill -KILL "$(cat "$HOME/wikinav_jax.pid")"
fi
export WIKINAV_CACHE="$HOME/data/cache"
.venv/bin/python -m wikinav_jax.main --workdir="$HOME/bucket/runs/'"$run_name"'" --coordinator=auto --config.data_dir="$HOME/data"'
train+="$(printf ' %q' "${TPU_REST[@]}")"
# shellcheck disable=SC2016
train+=' &
echo "$!" > "$HOME/wikinav_jax.pid"
status=0
wait "$!" || status="$?"
rm -f "$HOME/wikinav_jax.pid"
exit "$status"'
# shellcheck disable=SC2016
ready='test -f "$HOME/wikinav_jax.ready" && mountpoint -q "$HOME/bucket"'

if [ "$TPU_DRY_RUN" = 1 ]; then
  bash launch/tpu_vm_create.sh "${shared[@]}"
  echo "# if a host is not set up:"
  bash launch/tpu_vm_setup.sh "${shared[@]}"
  echo "# again after each preemption:"
  on_all_hosts "$train"
  exit 0
fi

restarts=0 failures=0
while true; do
  bash launch/tpu_vm_create.sh "${shared[@]}"
  status=0
  if on_all_hosts "$ready" >/dev/null 2>&1 || bash launch/tpu_vm_setup.sh "${shared[@]}"; then
    on_all_hosts "$train" || status="$?"
    if [ "$status" = 0 ]; then
      say "done: gs://$TPU_BUCKET/runs/$run_name"
      exit 0
    fi
  else
    status=255
  fi
  state="$(tpu_state)"
  # 1 and 2 are the program's own errors, which would come again; but the hosts that are left when
  # one is taken away fail so too, maybe before the TPU is said to be gone. So: twice in a row.
  # All else (143 after SIGTERM, 255 for a lost connection) is worth another attempt.
  if [ "$state" = ACTIVE ] && { [ "$status" = 1 ] || [ "$status" = 2 ]; }; then
    failures=$((failures + 1))
  else
    failures=0
  fi
  if [ "$failures" -ge 2 ]; then
    die "the program failed twice with status $status; see its message above" "$status"
  fi
  restarts=$((restarts + 1))
  if [ "$restarts" -gt "$max_restarts" ]; then
    die "gave up after $max_restarts restarts; the last status was $status" 1
  fi
  say "status $status, TPU $state: restart $restarts of at most $max_restarts"
  sleep "${TPU_POLL_SECONDS:-30}"
done
