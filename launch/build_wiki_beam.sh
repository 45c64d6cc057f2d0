#!/usr/bin/env bash
# Builds the graph of a MediaWiki dump: its pages are parsed by Apache Beam on a cluster, then
# joined on this machine. Does nothing that is done already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
SELF="$(basename "$0")"
USAGE="Usage: launch/build_wiki_beam.sh --runner=RUNNER --source=DUMP --prepared=PAGES --output=DIR \\
    [options] [-- flags of configs/build_wiki_beam.py, e.g. --config.keep_tables=True]

  --runner=RUNNER   dataflow, flink, spark, or direct (this machine)
  --source=DUMP     a dump, or the folder of its parts
  --prepared=PAGES  a folder for the parsed pages (a TFDS data set)
  --output=DIR      the graph's folder, on this machine; without it the pages are all
Workers must reach both DUMP and PAGES: gs://BUCKET/FOLDER, or a folder that all machines share.
  --image=IMAGE     container of the workers, made from launch/beam_worker.Dockerfile. Flink and
                    Spark need one; Dataflow installs this package on each worker without [BEAM_IMAGE]
  --workers=N       at most so many machines (dataflow), or tasks at once (flink, direct)
  --beam=FLAG       any other flag of Apache Beam, e.g. --beam=--subnetwork=…; may be repeated
  --dry-run         print what would run, and run nothing
Dataflow:
  --project=ID      [GOOGLE_CLOUD_PROJECT]
  --region=REGION   where the bucket is [BEAM_REGION]
  --temp=ADDRESS    gs://… for Beam's own files [PAGES/../beam-temp]
  --machine=TYPE    of the workers [n2-standard-4]
Flink (Java is needed here, for the job server that Beam starts):
  --master=HOST:PORT   of the job manager's REST interface [FLINK_MASTER]
Spark (likewise):
  --master=spark://HOST:PORT   [SPARK_MASTER]"

die() {
  printf '%s: error: %s\n' "$SELF" "$1" >&2
  exit 2
}

# Flags travel as a Python tuple of strings: neither quotes nor backslashes may be in them.
check_word() {
  case "$2" in
    "") die "$1 is missing; see $SELF --help" ;;
    *[!a-zA-Z0-9._/:@,=+~%-]*)
      die "$1=$(printf '%q' "$2") holds a character that addresses and names do not need" ;;
  esac
}

check_count() {
  case "$2" in
    "" | 0* | *[!0-9]*) die "$1=$2 is not a number above 0" ;;
  esac
}

run() {
  if [ "$dry_run" = 1 ]; then
    printf '%q ' "$@" | sed 's/ $//'
    printf '\n'
  else
    "$@"
  fi
}

runner="" source="" prepared="" output="" workers="" temp="" dry_run=0
image="${BEAM_IMAGE:-}" project="${GOOGLE_CLOUD_PROJECT:-}" region="${BEAM_REGION:-}"
machine="n2-standard-4" master=""
beam=() rest=()
while [ "$#" -gt 0 ]; do
  case "$1" in
    --help | -h) printf '%s\n' "$USAGE"; exit 0 ;;
    --dry-run) dry_run=1 ;;
    --runner=*) runner="${1#*=}" ;;
    --source=*) source="${1#*=}" ;;
    --prepared=*) prepared="${1#*=}" ;;
    --output=*) output="${1#*=}" ;;
    --image=*) image="${1#*=}" ;;
    --workers=*) workers="${1#*=}"; check_count --workers "$workers" ;;
    --project=*) project="${1#*=}" ;;
    --region=*) region="${1#*=}" ;;
    --temp=*) temp="${1#*=}" ;;
    --machine=*) machine="${1#*=}" ;;
    --master=*) master="${1#*=}" ;;
    --beam=*) check_word --beam "${1#*=}"; beam+=("${1#*=}") ;;
    --) shift; rest=("$@"); break ;;
    *) die "unexpected argument $1; see $SELF --help" ;;
  esac
  shift
done
if [ -z "$source" ]; then die "--source is missing; see $SELF --help"; fi
if [ -z "$prepared" ]; then die "--prepared is missing; see $SELF --help"; fi
for argument in "${rest[@]}"; do
  case "$argument" in
    --config.runner=* | --config.beam_options=* | --config.source=* | --config.prepared=* | \
      --config.output=* | --config=* | --mode=*)
      die "$argument is set by this script; leave it out behind --" ;;
    --config.*) ;;
    *) die "unexpected argument $argument behind --; give --config.FIELD=VALUE" ;;
  esac
done

flags=() extra="beam"
case "$runner" in
  direct)
    if [ -n "$workers" ]; then
      flags+=("--direct_num_workers=$workers" "--direct_running_mode=multi_threading")
    fi
    ;;
  dataflow)
    extra="dataflow"
    check_word --project "$project"
    check_word --region "$region"
    check_word --machine "$machine"
    for address in "$source" "$prepared"; do
      case "$address" in
        gs://?*) ;;
        *) die "Dataflow's workers do not reach $address; give an address gs://BUCKET/…" ;;
      esac
    done
    if [ -z "$temp" ]; then temp="${prepared%/}"; temp="${temp%/*}/beam-temp"; fi
    case "$temp" in
      gs://?*/*) check_word --temp "$temp" ;;
      *) die "--temp=$temp is no gs://BUCKET/FOLDER" ;;
    esac
    flags+=("--project=$project" "--region=$region" "--temp_location=$temp"
      "--worker_machine_type=$machine" "--disk_size_gb=100")
    if [ -n "$workers" ]; then flags+=("--max_num_workers=$workers"); fi
    if [ -n "$image" ]; then
      check_word --image "$image"
      flags+=("--sdk_container_image=$image" "--sdk_location=container")
    else
      flags+=("--setup_file=./setup.py" "--requirements_file=launch/beam_requirements.txt")
    fi
    ;;
  flink)
    master="${master:-${FLINK_MASTER:-}}"
    check_word --master "$master"
    check_word --image "$image"
    flags+=("--flink_master=$master" "--environment_type=DOCKER" "--environment_config=$image")
    if [ -n "$workers" ]; then flags+=("--parallelism=$workers"); fi
    ;;
  spark)
    if [ -n "$workers" ]; then die "--workers is for the others; Spark's master says how many"; fi
    master="${master:-${SPARK_MASTER:-}}"
    case "$master" in
      "" | spark://?* | local*) check_word --master "$master" ;;
      *) die "--master=$master is no spark://HOST:PORT" ;;
    esac
    check_word --image "$image"
    flags+=("--spark_master_url=$master" "--environment_type=DOCKER" "--environment_config=$image")
    ;;
  "") die "--runner is missing; see $SELF --help" ;;
  *) die "--runner=$runner is none of dataflow, flink, spark, direct" ;;
esac
flags+=("${beam[@]}")
case "$runner" in
  flink | spark)
    if [ "$dry_run" = 0 ] && ! command -v java >/dev/null 2>&1; then
      die "Java is not installed here; Beam starts its job server for $runner with it"
    fi ;;
esac

options="("
for flag in "${flags[@]}"; do options+="'$flag',"; done
options+=")"

python=.venv/bin/python
if [ "$dry_run" = 1 ]; then
  echo "# once:"
  run python3 -m venv .venv
else
  # shellcheck source=launch/environment.sh
  source launch/environment.sh
  make_venv .venv
fi
run "$python" -m pip install --quiet --editable ".[$extra]"
command=("$python" -m wikinav_jax.main --mode=build --config=configs/build_wiki_beam.py
  "--config.runner=$runner" "--config.source=$source" "--config.prepared=$prepared")
if [ -n "$output" ]; then command+=("--config.output=$output"); fi
if [ "$options" != "()" ]; then command+=("--config.beam_options=$options"); fi
run "${command[@]}" "${rest[@]}"
