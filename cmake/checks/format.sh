#!/usr/bin/env bash
# Checks that the sources are formatted as .clang-format says; `format.sh --fix` formats them. Exit code 77: no clang-format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tool="${CLANG_FORMAT:-clang-format}"
if ! command -v "$tool" >/dev/null; then
  echo "format: skipped, $tool is not installed"
  exit 77
fi
mode=(--dry-run --Werror)
[ "${1:-}" = --fix ] && mode=(-i)
find include src drivers unit_tests perf_tests examples -name '*.[ch]pp' -print0 | xargs -0 -r "$tool" "${mode[@]}"
echo "format: $(find include src drivers unit_tests perf_tests examples -name '*.[ch]pp' | wc -l) files ($("$tool" --version))"
