# Shared by the scripts of this folder; sourced, not run.
# Everything that is downloaded or built for Brickwork lives in one git-ignored folder: .deps (or $BRICKWORK_DEPS).

brickwork_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
brickwork_deps="${BRICKWORK_DEPS:-$brickwork_root/.deps}"

say() { printf 'brickwork: %s\n' "$*" >&2; }
# die MESSAGE; the exit code is 1, or $die_status where a caller has to tell the cases apart.
die() {
  printf 'brickwork: error: %s\n' "$*" >&2
  exit "${die_status:-1}"
}

# require_disk DIR GIB: stops when the file system that holds DIR has less than GIB free.
require_disk() {
  mkdir -p "$1" 2>/dev/null || die "cannot create the folder $1"
  local free_kib
  free_kib="$(df -Pk "$1" | awk 'NR == 2 { print $4 }')"
  [ "$free_kib" -ge $(($2 * 1024 * 1024)) ] ||
    die "only $((free_kib / 1024)) MiB are free under $1, at least $2 GiB are needed"
}

# version_at_least HAVE WANT
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

require_compilers() {
  local cxx="${CXX:-g++}" version
  command -v "$cxx" >/dev/null || die "no C++ compiler '$cxx' found (set CXX, or install g++ 9 or newer)"
  if "$cxx" --version 2>/dev/null | grep -qiE 'g\+\+|free software foundation'; then
    version="$("$cxx" -dumpfullversion -dumpversion)"
    version_at_least "$version" 9 || die "g++ $version is too old, 9 or newer is needed (set CXX to a newer one)"
  fi
  command -v cmake >/dev/null || die "cmake not found, 3.20 or newer is needed"
  version="$(cmake --version | awk 'NR == 1 { print $3 }')"
  version_at_least "$version" 3.20 || die "cmake $version is too old, 3.20 or newer is needed"
}

# Half a build does no harm: each step writes its stamp only when it is complete. Two set-ups at once would.
take_lock() {
  mkdir -p "$brickwork_deps" || die "cannot create the folder $brickwork_deps"
  exec 9>"$brickwork_deps/.lock"
  flock -n 9 || {
    say "waiting for another set-up that uses $brickwork_deps"
    flock 9
  }
}

build_jobs() { echo "${BRICKWORK_JOBS:-$(nproc)}"; }
