// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "format.hpp"

namespace brickwork {

using detail::format;

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 9.95) return format("%.1f s", seconds);
  if (seconds >= 3.6e8) return format("%.0f h", seconds / 3600);
  long const whole = std::lround(seconds);
  if (whole < 60) return format("%ld s", whole);
  if (whole < 3600) return format("%ld min %02ld s", whole / 60, whole % 60);
  return format("%ld h %02ld min", whole / 3600, whole / 60 % 60);
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes) || bytes < 0) return "unknown";
  if (bytes < 1024) return format("%.0f bytes", bytes);
  static char const* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return format("%.3g %s", bytes < 999.5 ? bytes : std::round(bytes), units[unit]);
}

Progress Progress::console(bool quiet) {
  char const* term = std::getenv("TERM");
  bool const terminal = isatty(STDOUT_FILENO) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
  return Progress(std::cout, terminal, quiet);
}

void Progress::erase_bar() {
  if (!bar_drawn_) return;
  out_ << "\r\033[K";
  bar_drawn_ = false;
}

void Progress::header(std::vector<std::pair<std::string, std::string>> const& settings) {
  if (quiet_) return;
  std::size_t width = 0;
  for (auto const& setting : settings) width = std::max(width, setting.first.size());
  for (auto const& setting : settings) {
    out_ << "  " << setting.first << std::string(width - setting.first.size() + 2, ' ') << setting.second << '\n';
  }
  out_ << std::flush;
}

void Progress::warning(std::string const& text) {
  erase_bar();
  out_ << "warning: " << text << '\n' << std::flush;
}

void Progress::note(std::string const& text) {
  if (quiet_) return;
  erase_bar();
  out_ << text << '\n' << std::flush;
}

void Progress::row(std::string const& titles, std::string const& line, int step, int steps, double seconds) {
  smoothed_seconds_ = smoothed_seconds_ < 0 ? seconds : 0.7 * smoothed_seconds_ + 0.3 * seconds;
  if (quiet_) return;
  erase_bar();
  if (!titles_printed_) out_ << titles << '\n';
  titles_printed_ = true;
  out_ << line << '\n';
  if (terminal_ && step < steps) draw_bar(step, steps);
  out_ << std::flush;
}

void Progress::step(HistoryRow const& row, int steps) {
  int const digits = std::max<int>(4, static_cast<int>(std::to_string(steps).size()));
  std::string const titles = format("%*s  %13s  %8s  %9s  %8s  %10s  %9s  %9s", digits, "step", "compliance", "volume",
                                    "grayness", "change", "iterations", "residual", "seconds");
  std::string const line =
      format("%*d  %13.7g  %8.5f  %9.2e  %8.4f  %10lld  %9.2e  %9.3f", digits, row.step, row.compliance, row.volume,
             row.grayness, row.change, static_cast<long long>(row.iterations), row.true_residual, row.seconds);
  this->row(titles, line + (row.capped ? "  capped" : ""), row.step, steps, row.seconds);
}

void Progress::draw_bar(int step, int steps) {
  constexpr int width = 30;
  int const filled = static_cast<int>(static_cast<double>(width) * step / steps);
  out_ << '[' << std::string(static_cast<std::size_t>(filled), '=')
       << std::string(static_cast<std::size_t>(width - filled), ' ')
       << format("] %3d%%  about ", static_cast<int>(100.0 * step / steps))
       << format_duration(smoothed_seconds_ * (steps - step)) << " left";
  bar_drawn_ = true;
}

void Progress::finish(std::string const& text) {
  erase_bar();
  out_ << text << '\n' << std::flush;
}

}  // namespace brickwork
