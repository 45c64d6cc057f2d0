#!/usr/bin/env bash
# Asks for a TPU by a queued resource and waits until it is there; makes the bucket if need be.
# Does nothing when the TPU is there; replaces one that was taken away (a preempted spot TPU).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/tpu_environment.sh
# shellcheck disable=SC2034  # read by read_options
TPU_USAGE="Usage: launch/tpu_vm_create.sh --name=NAME --zone=ZONE --bucket=BUCKET [options]"
read_options "$@"
if [ "${#TPU_REST[@]}" -gt 0 ]; then
  die "unexpected argument ${TPU_REST[0]}; see $TPU_SELF --help"
fi

make_bucket() {
  local region="${TPU_ZONE%-*}" project=()
  if [ -n "$TPU_PROJECT" ]; then project=(--project="$TPU_PROJECT"); fi
  if [ "$TPU_DRY_RUN" = 0 ] && gcloud storage buckets describe "gs://$TPU_BUCKET" \
    --format='value(name)' >/dev/null 2>&1; then
    return
  fi
  # With a hierarchical namespace folders are renamed in one step, as checkpoints are when they
  # are whole; beside the TPU, or every checkpoint crosses regions.
  run gcloud storage buckets create "gs://$TPU_BUCKET" "${project[@]}" --location="$region" \
    --uniform-bucket-level-access --enable-hierarchical-namespace
}

request() {
  local spot=()
  if [ "$TPU_SPOT" != 0 ]; then spot=(--spot); fi
  run gcloud compute tpus queued-resources create "$TPU_NAME" --node-id="$TPU_NAME" \
    "${TPU_WHERE[@]}" --accelerator-type="$TPU_TYPE" --runtime-version="$TPU_RUNTIME" \
    "${spot[@]}"
}

remove() {
  run gcloud compute tpus queued-resources delete "$TPU_NAME" "${TPU_WHERE[@]}" --force --quiet
}

make_bucket
if [ "$TPU_DRY_RUN" = 1 ]; then
  echo "# if a TPU of that name was taken away:"
  remove
  echo "# if there is none:"
  request
  exit 0
fi

last=""
while true; do
  state="$(tpu_state)"
  if [ "$state" != "$last" ]; then say "$TPU_NAME: $state"; fi
  last="$state"
  case "$state" in
    ACTIVE) exit 0 ;;
    NONE) request; continue ;;
    SUSPENDED | FAILED) remove; continue ;;
  esac
  sleep "${TPU_POLL_SECONDS:-30}"
done
