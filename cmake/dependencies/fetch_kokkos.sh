#!/usr/bin/env bash
# Puts the sources of Kokkos and Kokkos Kernels into .deps/src and prints one line "KOKKOS_FOLDER KERNELS_FOLDER ORIGIN".
# Order: $BRICKWORK_KOKKOS_SOURCE (a folder that holds kokkos/ and kokkos-kernels/, or a Kokkos checkout itself with
# $BRICKWORK_KOKKOS_KERNELS_SOURCE beside it), what an earlier run left in .deps/src, the distribution's source package.
# Exit code 3: no sources to be had. KERNELS_FOLDER is "-" where there is none.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=3.4.1 # what the source package trilinos 13.2.0 of Debian 12, 13 and Ubuntu 22.04, 24.04 holds
src="$brickwork_deps/src"

if [ -n "${BRICKWORK_KOKKOS_SOURCE:-}" ]; then
  given="$(cd "$BRICKWORK_KOKKOS_SOURCE" 2>/dev/null && pwd)" ||
    die "BRICKWORK_KOKKOS_SOURCE=$BRICKWORK_KOKKOS_SOURCE is not a folder"
  kernels="${BRICKWORK_KOKKOS_KERNELS_SOURCE:-}"
  if [ -f "$given/core/src/Kokkos_Core.hpp" ]; then
    kokkos="$given"
  elif [ -f "$given/kokkos/core/src/Kokkos_Core.hpp" ]; then
    kokkos="$given/kokkos"
    [ -z "$kernels" ] && [ -d "$given/kokkos-kernels" ] && kernels="$given/kokkos-kernels"
  else
    die "BRICKWORK_KOKKOS_SOURCE=$given holds no Kokkos sources (core/src/Kokkos_Core.hpp or kokkos/core/src/...)"
  fi
  echo "$kokkos ${kernels:--} given"
  exit 0
fi

if [ -f "$src/.complete-$version" ]; then
  echo "$src/kokkos-$version $src/kokkos-kernels-$version fetched"
  exit 0
fi

die_status=3 # from here on: no sources to be had
command -v apt-get >/dev/null ||
  die "no apt-get here to fetch the source package trilinos: install Kokkos and set Kokkos_ROOT, or set BRICKWORK_KOKKOS_SOURCE"
die_status=1 require_disk "$brickwork_deps" 2

# A private copy of the machine's own package sources, as deb-src: no mirror is named here, nothing of the system changes.
apt="$brickwork_deps/apt"
rm -rf "$apt"
mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/archives/partial"
for file in /etc/apt/sources.list.d/*.sources; do
  [ -f "$file" ] && sed -E 's/^Types:.*/Types: deb-src/' "$file" >"$apt/sources/$(basename "$file")"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ -f "$file" ] && sed -nE 's/^deb(-src)?[[:space:]]/deb-src /p' "$file" | sort -u >"$apt/sources/$(basename "$file" .list).list"
done
options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" -o "Dir::State::Lists=$apt/lists"
  -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives" -o APT::Get::List-Cleanup=0)
[ "$(id -u)" = 0 ] && options+=(-o APT::Sandbox::User=root)

say "fetching the source package trilinos (Kokkos $version, about 170 MB)"
apt-get "${options[@]}" update >"$apt/update.log" 2>&1 || true
mkdir -p "$brickwork_deps/download"
(cd "$brickwork_deps/download" && apt-get "${options[@]}" source --download-only trilinos) >"$apt/source.log" 2>&1 ||
  die "the source package trilinos could not be fetched ($(grep -hE '^(E|Err|W):' "$apt/update.log" "$apt/source.log" | head -n 1)); is there a network? log: $apt/source.log"
archive="$(ls "$brickwork_deps"/download/trilinos_*.orig.tar.* 2>/dev/null | head -n 1)"
[ -n "$archive" ] || die "the source package trilinos came without its archive, see $apt/source.log"

say "unpacking Kokkos and Kokkos Kernels"
rm -rf "$src/partial"
mkdir -p "$src/partial"
tar -xf "$archive" -C "$src/partial" --strip-components=2 --wildcards '*/packages/kokkos/*' '*/packages/kokkos-kernels/*' ||
  die "$archive could not be unpacked; delete it and start again"
for part in kokkos kokkos-kernels; do
  rm -rf "$src/$part-$version"
  mv "$src/partial/$part" "$src/$part-$version"
done
found="$(sed -nE 's/^[[:space:]]*set\(Kokkos_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)\).*/\2/Ip' "$src/kokkos-$version/CMakeLists.txt" | sed 's/^0*\([0-9]\)/\1/' | paste -sd.)"
[ "$found" = "$version" ] || die "the source package trilinos holds Kokkos '$found' where $version was expected: install Kokkos yourself and set Kokkos_ROOT"
touch "$src/.complete-$version"
rm -rf "$src/partial" "$brickwork_deps/download" "$apt"
echo "$src/kokkos-$version $src/kokkos-kernels-$version distribution"
