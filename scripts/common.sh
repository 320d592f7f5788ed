# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share. Sourced, never run; the caller has set -euo pipefail.
# Nothing is written outside the tree, except packages that the machine lacks.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
export CCACHE_DIR="${CCACHE_DIR:-$root/build/ccache}"
export CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-2G}"
logs="$root/build/logs"
mkdir -p "$logs"
jobs=$(nproc)
export root logs jobs

# Clears the user's settings: what is shown and tested is this tree's own behaviour.
forget_settings() {
  local name
  for name in $(compgen -e); do
    case "$name" in
      SLUICE_TEST_PRESETS) ;;
      SLUICE_* | NCCL_*) unset "$name" ;;
    esac
  done
}

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "packages are missing and neither root nor sudo is at hand: as root, run: $*"
  fi
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages STAGE...: what scripts/packages.txt lists for these stages and the machine lacks.
install_packages() {
  command -v dpkg-query >/dev/null || die "this is no Debian; install what scripts/packages.txt lists by hand"
  local stage package missing=()
  while read -r stage package; do
    [[ " $* " == *" $stage "* ]] || continue
    is_installed "$package" || missing+=("$package")
  done < <(grep -v '^#' scripts/packages.txt)
  [ ${#missing[@]} -gt 0 ] || return 0
  printf 'installing: %s\n' "${missing[*]}"
  # One broken source of many need not matter; what matters is whether the packages come.
  as_root apt-get update >"$logs/apt.log" 2>&1 || printf 'apt-get update failed, trying all the same\n'
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" \
    >>"$logs/apt.log" 2>&1 ||
    die "apt-get install ${missing[*]} failed, see build/logs/apt.log: $(tail -n 1 "$logs/apt.log")"
}
