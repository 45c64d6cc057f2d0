#!/usr/bin/env bash
# Installs this working tree on all hosts of a TPU, mounts the bucket and copies the data.
#
# Runs go to the bucket through Cloud Storage FUSE at ~/bucket: Orbax could write to gs:// by
# itself, but reports, metrics and results are plain files, and one folder should hold all of a
# run. Data is copied to each host's own disk instead: training reads a few hundred random rows of
# 256 bytes a step through memory maps, and each would be a request to the bucket.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/tpu_environment.sh
# shellcheck disable=SC2034  # read by read_options
TPU_USAGE="Usage: launch/tpu_vm_setup.sh --name=NAME --zone=ZONE --bucket=BUCKET [options]
Copies gs://BUCKET/data to ~/data of every host: graph folders, and the cache with the tokens
(gcloud storage rsync -r LOCAL_FOLDER gs://BUCKET/data)."
read_options "$@"
if [ "${#TPU_REST[@]}" -gt 0 ]; then
  die "unexpected argument ${TPU_REST[0]}; see $TPU_SELF --help"
fi

archive="$(mktemp -d)/wikinav_jax.tar.gz"
trap 'rm -rf "$(dirname "$archive")"' EXIT
run tar --exclude-vcs --exclude=.venv --exclude=runs -czf "$archive" .
run gcloud compute tpus tpu-vm scp "$archive" "$TPU_NAME:wikinav_jax.tar.gz" "${TPU_WHERE[@]}" \
  --worker=all

# Runs on every host. $HOME and the rest are theirs; TPU_BUCKET was checked to be a plain name.
# shellcheck disable=SC2016
on_all_hosts 'set -eu
bucket='"$TPU_BUCKET"'
rm -f "$HOME/wikinav_jax.ready"
mkdir -p "$HOME/wikinav_jax" "$HOME/bucket" "$HOME/data"
tar xzf "$HOME/wikinav_jax.tar.gz" -C "$HOME/wikinav_jax"
export DEBIAN_FRONTEND=noninteractive
apt_get() { sudo -E apt-get -o DPkg::Lock::Timeout=600 -qq "$@"; }
if ! command -v gcsfuse >/dev/null; then
  echo "deb https://packages.cloud.google.com/apt gcsfuse-$(lsb_release -cs) main" |
    sudo tee /etc/apt/sources.list.d/gcsfuse.list >/dev/null
  curl -fsS https://packages.cloud.google.com/apt/doc/apt-key.gpg |
    sudo tee /etc/apt/trusted.gpg.d/gcsfuse.asc >/dev/null
  apt_get update
  apt_get install -y gcsfuse
fi
# Another host must see a checkpoint as soon as it is whole: nothing is remembered of the files.
if ! mountpoint -q "$HOME/bucket"; then
  gcsfuse --implicit-dirs --metadata-cache-ttl-secs=0 --rename-dir-limit=100000 \
    "$bucket" "$HOME/bucket"
fi
cd "$HOME/wikinav_jax"
. launch/environment.sh
if ! find_python >/dev/null 2>&1; then
  sudo add-apt-repository -y ppa:deadsnakes/ppa >/dev/null
  apt_get update
  apt_get install -y python3.11 python3.11-venv
fi
make_venv .venv
.venv/bin/python -m pip install --quiet --editable . "jax[tpu]"
if [ -d "$HOME/bucket/data" ]; then
  gcloud storage rsync --recursive "gs://$bucket/data" "$HOME/data"
fi
touch "$HOME/wikinav_jax.ready"
echo "$(hostname): ready"'
