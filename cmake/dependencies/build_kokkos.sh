#!/usr/bin/env bash
# build_kokkos.sh BACKEND [ARCH] [PREFIX]
# Builds and installs Kokkos and Kokkos Kernels for one backend, from the sources that fetch_kokkos.sh finds.
#   BACKEND  openmp (OpenMP and Serial) | serial | debug (OpenMP and Serial with bounds checks) | cuda (Cuda and Serial)
#   ARCH     80, 86, 89 or 90 (cuda only, 90 unless given; "-" for the default)
#   PREFIX   where to install, .deps/install/BACKEND unless given (cuda: .deps/install/cuda-smARCH)
# Does nothing when PREFIX is complete already; an interrupted run continues where it stopped.
set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
source "$here/common.sh"

backend="${1:?BACKEND is missing: openmp, serial, debug or cuda}"
arch="${2:--}"
[ "$arch" = - ] && arch=90
case "$backend" in
  openmp | serial | debug) name="$backend" ;;
  cuda) name="cuda-sm$arch" ;;
  *) die "unknown backend '$backend': openmp, serial, debug or cuda" ;;
esac
prefix="${3:-$brickwork_deps/install/$name}"
# Sources given by the user get folders of their own, so that they never mix with what was fetched.
[ -n "${BRICKWORK_KOKKOS_SOURCE:-}" ] && [ -z "${3:-}" ] && prefix="$prefix-given" && name="$name-given"

if [ -f "$prefix/.complete" ] && { [ -z "${BRICKWORK_KOKKOS_SOURCE:-}" ] || [ "$(sed -n 2p "$prefix/.complete")" = "$BRICKWORK_KOKKOS_SOURCE" ]; }; then
  say "Kokkos: already built, $prefix ($(head -n 1 "$prefix/.complete"))"
  echo "$prefix"
  exit 0
fi

require_compilers
take_lock
require_disk "$brickwork_deps" 2
sources="$("$here/fetch_kokkos.sh")" || exit $? # it has said why
read -r kokkos kernels origin <<<"$sources"
version="$(sed -nE 's/^[[:space:]]*set\(Kokkos_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)\).*/\2/Ip' "$kokkos/CMakeLists.txt" | sed 's/^0*\([0-9]\)/\1/' | paste -sd.)"
standard=17
version_at_least "$version" 5 && standard=20

options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" -DCMAKE_CXX_STANDARD=$standard -DCMAKE_CXX_EXTENSIONS=OFF
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_LIBDIR=lib -DKokkos_CXX_STANDARD=$standard)
command -v ninja >/dev/null && options+=(-G Ninja)
kokkos_options=(-DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_TESTS=OFF -DKokkos_ENABLE_EXAMPLES=OFF)
kernels_options=(-DKokkosKernels_ADD_DEFAULT_ETI=OFF -DKokkosKernels_ENABLE_TESTS=OFF -DKokkosKernels_ENABLE_EXAMPLES=OFF
  -DKokkosKernels_ENABLE_PERFTESTS=OFF)

case "$backend" in
  openmp) kokkos_options+=(-DKokkos_ENABLE_OPENMP=ON) ;;
  debug) kokkos_options+=(-DKokkos_ENABLE_OPENMP=ON -DKokkos_ENABLE_DEBUG=ON -DKokkos_ENABLE_DEBUG_BOUNDS_CHECK=ON) ;;
  cuda)
    case "$arch" in
      80) kokkos_arch=AMPERE80 ;;
      86) kokkos_arch=AMPERE86 ;;
      89) kokkos_arch=ADA89 ;;
      90) kokkos_arch=HOPPER90 ;;
      *) die "unknown CUDA architecture '$arch': 80 (A100), 86 (RTX 30), 89 (RTX 40), 90 (H100, H200)" ;;
    esac
    command -v nvcc >/dev/null || { [ -x /usr/local/cuda/bin/nvcc ] && export PATH="/usr/local/cuda/bin:$PATH"; } ||
      die "nvcc not found: put the CUDA Toolkit's bin folder into PATH"
    nvcc_major="$(nvcc --version | sed -nE 's/.*release ([0-9]+)\..*/\1/p')"
    if [ "$version" = 3.4.1 ]; then
      # The release knows no architecture above 8.6, and CUDA 13 dropped what three of its files call.
      patched="$brickwork_deps/src/kokkos-$version-cuda$nvcc_major"
      if [ ! -f "$patched/.complete" ]; then
        rm -rf "$patched" "$patched.partial"
        cp -r "$kokkos" "$patched.partial"
        patches=(kokkos-3.4.1-arch.patch)
        [ "$nvcc_major" -ge 13 ] && patches+=(kokkos-3.4.1-cuda13-half.patch kokkos-3.4.1-cuda13-prefetch.patch)
        for file in "${patches[@]}"; do
          patch -s -p1 -d "$patched.partial" <"$brickwork_root/cmake/patches/$file" || die "cmake/patches/$file does not apply to $kokkos"
          say "applied cmake/patches/$file"
        done
        touch "$patched.partial/.complete"
        mv "$patched.partial" "$patched"
      fi
      kokkos="$patched"
      kernels_options+=(-DKokkosKernels_ENABLE_TPL_CUSPARSE=OFF -DKokkosKernels_ENABLE_TPL_CUBLAS=OFF)
    fi
    # CMake's compiler check calls the wrapper before Kokkos says which architecture is wanted.
    export NVCC_WRAPPER_DEFAULT_ARCH="sm_$arch" NVCC_WRAPPER_DEFAULT_COMPILER="${CXX:-g++}"
    kokkos_options+=(-DCMAKE_CXX_COMPILER="$kokkos/bin/nvcc_wrapper" -DKokkos_ENABLE_CUDA=ON -DKokkos_ENABLE_CUDA_LAMBDA=ON "-DKokkos_ARCH_$kokkos_arch=ON")
    ;;
esac

# step NAME LOG COMMAND...: runs a command quietly; on failure one line says which log tells why.
step() {
  local what="$1" log="$2"
  shift 2
  "$@" >"$log" 2>&1 || die "$what failed: $(grep -m 1 -iE 'error|fatal|no space' "$log" || tail -n 1 "$log") (log: $log)"
}

build="$brickwork_deps/build/$name"
mkdir -p "$build"
rm -f "$prefix/.complete"
say "building Kokkos $version for $name (sources: $origin)"
step "configuring Kokkos" "$build/kokkos-configure.log" cmake -S "$kokkos" -B "$build/kokkos" "${options[@]}" "${kokkos_options[@]}" -DCMAKE_INSTALL_PREFIX="$prefix"
step "building Kokkos" "$build/kokkos-build.log" cmake --build "$build/kokkos" -j "$(build_jobs)"
step "installing Kokkos" "$build/kokkos-install.log" cmake --install "$build/kokkos"
if [ "$backend" = cuda ] && [ "$version" = 3.4.1 ]; then
  sed -i "s/NVCC_WRAPPER_DEFAULT_ARCH:-\"sm_[0-9]*\"/NVCC_WRAPPER_DEFAULT_ARCH:-\"sm_$arch\"/" "$prefix/bin/nvcc_wrapper"
fi
if [ "$kernels" != - ]; then
  say "building Kokkos Kernels for $name"
  [ "$backend" = cuda ] && kernels_options+=(-DCMAKE_CXX_COMPILER="$prefix/bin/nvcc_wrapper")
  step "configuring Kokkos Kernels" "$build/kernels-configure.log" cmake -S "$kernels" -B "$build/kokkos-kernels" "${options[@]}" "${kernels_options[@]}" -DKokkos_ROOT="$prefix" -DCMAKE_INSTALL_PREFIX="$prefix"
  step "building Kokkos Kernels" "$build/kernels-build.log" cmake --build "$build/kokkos-kernels" -j "$(build_jobs)"
  step "installing Kokkos Kernels" "$build/kernels-install.log" cmake --install "$build/kokkos-kernels"
fi
printf '%s\n%s\n' "Kokkos $version, sources: $origin" "${BRICKWORK_KOKKOS_SOURCE:-}" >"$prefix/.complete"
rm -rf "$build" # only the installed files are needed from here on
say "Kokkos $version installed in $prefix"
echo "$prefix"
