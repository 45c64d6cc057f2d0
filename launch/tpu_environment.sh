# shellcheck shell=bash
# Sourced by launch/tpu_vm_*.sh: their options, and how they run commands.

TPU_SELF="$(basename "$0")"
TPU_HELP="Options of all three scripts (or the variables in brackets):
  --name=NAME       of the TPU and of its queued resource [TPU_NAME]
  --zone=ZONE       e.g. us-central1-a [TPU_ZONE]
  --bucket=BUCKET   storage for runs and data, without gs:// [TPU_BUCKET]
  --project=ID      [TPU_PROJECT; gcloud's own by default]
  --type=TYPE       accelerator [TPU_TYPE; v5litepod-64]
  --runtime=NAME    software of the VM [TPU_RUNTIME; v2-alpha-tpuv5-lite]
  --on-demand       not a spot TPU, which is cheaper and may be taken away [TPU_SPOT=0]
  --dry-run         print what would run, and run nothing"

die() {
  printf '%s: error: %s\n' "$TPU_SELF" "$1" >&2
  exit "${2:-2}"
}

say() {
  printf '%s: %s\n' "$TPU_SELF" "$1" >&2
}

# Each character of these is allowed in a Google Cloud name; whatever else stands there is a slip
# that would only be found after the machines are paid for.
check_name() {
  case "$2" in
    "") die "$1 is missing; see $TPU_SELF --help" ;;
    *[!a-zA-Z0-9._-]* | -*)
      die "$1=$(printf '%q' "$2") is no name: letters, digits, '.', '_' and '-' only" ;;
  esac
}

# Sets the options from the command line; what is not one of them goes to the array TPU_REST.
read_options() {
  TPU_DRY_RUN=0
  TPU_REST=()
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --help | -h) printf '%s\n\n%s\n' "$TPU_USAGE" "$TPU_HELP"; exit 0 ;;
      --dry-run) TPU_DRY_RUN=1 ;;
      --on-demand) TPU_SPOT=0 ;;
      --name=*) TPU_NAME="${1#*=}" ;;
      --zone=*) TPU_ZONE="${1#*=}" ;;
      --bucket=*) TPU_BUCKET="${1#*=}" ;;
      --project=*) TPU_PROJECT="${1#*=}" ;;
      --type=*) TPU_TYPE="${1#*=}" ;;
      --runtime=*) TPU_RUNTIME="${1#*=}" ;;
      --) shift; TPU_REST+=("$@"); break ;;
      *) TPU_REST+=("$1") ;;
    esac
    shift
  done
  export TPU_NAME="${TPU_NAME:-}" TPU_ZONE="${TPU_ZONE:-}" TPU_BUCKET="${TPU_BUCKET:-}"
  export TPU_PROJECT="${TPU_PROJECT:-}" TPU_TYPE="${TPU_TYPE:-v5litepod-64}"
  export TPU_RUNTIME="${TPU_RUNTIME:-v2-alpha-tpuv5-lite}" TPU_SPOT="${TPU_SPOT:-1}"
  check_name --name "$TPU_NAME"
  check_name --zone "$TPU_ZONE"
  check_name --bucket "$TPU_BUCKET"
  check_name --type "$TPU_TYPE"
  check_name --runtime "$TPU_RUNTIME"
  TPU_WHERE=(--zone="$TPU_ZONE")
  if [ -n "$TPU_PROJECT" ]; then
    check_name --project "${TPU_PROJECT//:/-}"  # old projects have a domain and a colon
    TPU_WHERE+=(--project="$TPU_PROJECT")
  fi
  if [ "$TPU_DRY_RUN" = 0 ] && ! command -v gcloud >/dev/null 2>&1; then
    die "gcloud is not installed; see https://cloud.google.com/sdk/docs/install"
  fi
}

# Runs a command; in a dry run prints it so that a shell could read it back.
run() {
  if [ "$TPU_DRY_RUN" = 1 ]; then
    printf '%q ' "$@" | sed 's/ $//'
    printf '\n'
  else
    "$@"
  fi
}

# Runs a script on all hosts of the TPU at once. The script is one argument of ours, so that no
# shell on the way takes it apart.
on_all_hosts() {
  run gcloud compute tpus tpu-vm ssh "$TPU_NAME" "${TPU_WHERE[@]}" --worker=all --command="$1"
}

# The state of the queued resource: ACTIVE, WAITING_FOR_RESOURCES, SUSPENDED, …; NONE without one.
tpu_state() {
  local found
  if ! found="$(gcloud compute tpus queued-resources describe "$TPU_NAME" "${TPU_WHERE[@]}" \
    --format='value(state.state)' 2>&1)"; then
    case "$found" in
      *NOT_FOUND* | *"not found"*) echo NONE; return ;;
    esac
    die "cannot ask for the state of $TPU_NAME: $found" 1
  fi
  echo "$found"
}
