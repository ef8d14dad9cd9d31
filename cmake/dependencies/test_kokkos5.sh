#!/usr/bin/env bash
# test_kokkos5.sh [ctest arguments]: runs the unit tests with the newest Kokkos, from Debian unstable (libkokkos-dev: OpenMP
# and Serial, C++20). Nothing is installed: its packages are unpacked under .deps/kokkos5, and the programs are started
# through unstable's own dynamic linker with its C and C++ libraries. For Debian on amd64.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
source "$here/common.sh"
require_compilers
take_lock
root="$brickwork_deps/kokkos5"

if [ ! -f "$root/.complete" ]; then
  require_disk "$brickwork_deps" 2
  apt="$root.partial/apt"
  rm -rf "$root.partial"
  mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/archives/partial" "$root.partial/packages"
  # The machine's own mirror, suite sid.
  codename="$(. /etc/os-release && echo "${VERSION_CODENAME:-}")"
  uri="$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk -v suite="$codename" '
    /^URIs:/ { uri = $2 } /^Suites:/ { for (i = 2; i <= NF; ++i) if ($i == suite && uri != "" && uri !~ /security/) { print uri; exit } }')"
  [ -n "$uri" ] || uri="$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -E 's/\[[^]]*\]//' | awk -v suite="$codename" '$1 == "deb" && $3 == suite { print $2; exit }')"
  [ -n "$uri" ] || die "no package source for '$codename' found on this machine to derive unstable's from"
  printf 'Types: deb\nURIs: %s\nSuites: sid\nComponents: main\nArchitectures: amd64\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' "$uri" >"$apt/sources/sid.sources"
  options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" -o "Dir::State::Lists=$apt/lists"
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
    -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives")
  [ "$(id -u)" = 0 ] && options+=(-o APT::Sandbox::User=root)
  say "fetching Kokkos from Debian unstable"
  apt-get "${options[@]}" update >"$root.partial/apt.log" 2>&1 || true
  kokkos="$(apt-cache "${options[@]}" depends libkokkos-dev 2>/dev/null | awk '/Depends: libkokkos[0-9]/ { print $2; exit }')"
  [ -n "$kokkos" ] || die "libkokkos-dev could not be found in unstable (log: $root.partial/apt.log)"
  (cd "$root.partial/packages" && apt-get "${options[@]}" download libkokkos-dev "$kokkos" libc6 libstdc++6 libgcc-s1 libgomp1 libhwloc15 libudev1 libcap2) \
    >>"$root.partial/apt.log" 2>&1 || die "the packages of unstable could not be fetched (log: $root.partial/apt.log)"
  for package in "$root.partial"/packages/*.deb; do
    case "$package" in
      */libkokkos*) dpkg-deb -x "$package" "$root.partial/kokkos" ;;
      *) dpkg-deb -x "$package" "$root.partial/system" ;;
    esac
  done
  rm -rf "$root.partial/packages" "$apt"
  touch "$root.partial/.complete"
  rm -rf "$root"
  mv "$root.partial" "$root"
fi

config="$(find "$root/kokkos" -name KokkosConfig.cmake | head -n 1)"
[ -n "$config" ] || die "unstable's libkokkos-dev holds no KokkosConfig.cmake"
# Its targets name the folder of an installed package.
grep -rlE '"/usr/|;/usr/' "$(dirname "$config")" | xargs -r sed -i -E "s#([\";])/usr/include/kokkos#\1$root/kokkos/usr/include/kokkos#g"
# They also name archives without content that the package leaves out; empty ones satisfy CMake.
prefix="$root/kokkos/usr"
grep -ohE '_IMPORT_PREFIX\}/lib[^";]*\.a' "$(dirname "$config")"/KokkosTargets*.cmake | sed 's/^_IMPORT_PREFIX}//' | sort -u |
  while read -r archive; do [ -f "$prefix$archive" ] || ar rc "$prefix$archive"; done
linker="$(find "$root/system" -name 'ld-linux-x86-64.so.2' | head -n 1)"
libraries="$(find "$root/system" "$root/kokkos" -name '*.so*' -exec dirname {} + | sort -u | paste -sd:)"
# What unstable does not replace (HDF5 and what it needs) comes from the machine.
libraries="$libraries:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu"

build="$brickwork_root/build/kokkos5"
say "configuring with $config"
# The emulator starts each test program through unstable's linker, also when Catch2 lists the test cases.
cmake -S "$brickwork_root" -B "$build" $(command -v ninja >/dev/null && echo "-G Ninja") -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DKokkos_DIR="$(dirname "$config")" -DBrickwork_ENABLE_DRIVERS=OFF -DBrickwork_ENABLE_INSTALL=OFF \
  -DCMAKE_EXE_LINKER_FLAGS="-Wl,--allow-shlib-undefined" -DCMAKE_CROSSCOMPILING_EMULATOR="$linker;--library-path;$libraries"
cmake --build "$build" -j "$(build_jobs)"
ctest --test-dir "$build" -L unit --output-on-failure "$@"
