# shellcheck shell=bash
# For .ci/generators/run and .ci/clients/run: installs packages once for each version, and starts a service. The current folder is
# the root, and $here the script's own folder.
root=$PWD
tools="$root/.patchbay/$(basename "$here")"
export PATH="$root/node_modules/.bin:$PATH"

scratch=$(mktemp -d)
service=
stop_service() {
  [ -z "$service" ] || { kill "$service" 2>/dev/null && wait "$service" 2>/dev/null; } || true
  service=
}
trap 'stop_service; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Exits with 3, because something is not available here.
unavailable() {
  echo "Skipped: $1"
  exit 3
}

needs() {
  for command; do command -v "$command" >/dev/null || unavailable "there is no $command."; done
}

# Runs a command, and prints its output only if it fails.
quietly() {
  "$@" >log 2>&1 || { cat log; return 1; }
}

# Installs packages with the given command into a folder, once for each version. The folder appears only when it is complete.
installed() {
  local name="$1" folder="$tools/$1" packages="$3"
  shift
  [ "$(cat "$folder/packages" 2>/dev/null)" != "$packages" ] || return 0
  rm -rf "$folder" "$folder.new" && mkdir -p "$folder.new"
  quietly "$@" "$folder.new" || unavailable "the packages of $name cannot be installed, as above."
  echo "$packages" >"$folder.new/packages"
  mv "$folder.new" "$folder"
}

# shellcheck disable=SC2086
pip_install() { python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location $1 --target "$2"; }
mvn_install() { mvn --quiet --batch-mode dependency:copy "-Dartifact=$1" "-DoutputDirectory=$2"; }
# shellcheck disable=SC2086
npm_install() { npm install --silent --no-audit --no-fund --prefix "$2" $1; }
go_install() { GOBIN=$2 go install "$1"; }

start_service() {
  : >"$scratch/service"
  node infra/patchbay.js start --port 0 --quiet >"$scratch/service" &
  service=$!
  for _ in $(seq 600); do
    url=$(sed -n 's/^ready //p' "$scratch/service")
    [ -z "$url" ] || break
    kill -0 "$service" 2>/dev/null || exit 1
    sleep 0.2
  done
  [ -n "$url" ] || { echo "The service has not become ready in two minutes." && exit 1; }
  variables=$(PORT=${url##*:} node infra/admin/admin.ts env 2>/dev/null)
  eval "$variables"
}
