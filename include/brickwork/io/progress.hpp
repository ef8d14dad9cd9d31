// SPDX-License-Identifier: BSD-3-Clause
// What a run says on the console. Free of Kokkos.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/io/run_directory.hpp"

namespace brickwork {

/// Console lines of a run: a block of resolved settings, one aligned line per step, and on a terminal a progress bar
/// with the time left on the last line. Quiet, it prints warnings and the final line only.
class Progress {
 public:
  /// \param terminal whether `out` understands carriage return and erase-line
  Progress(std::ostream& out, bool terminal, bool quiet) : out_(out), terminal_(terminal), quiet_(quiet) {}

  /// A Progress on standard output, with a bar where that is a terminal (isatty, and TERM is not "dumb").
  static Progress console(bool quiet);

  /// Resolved settings, one aligned "key  value" line each.
  void header(std::vector<std::pair<std::string, std::string>> const& settings);

  /// One line, also when quiet.
  void warning(std::string const& text);

  /// One line that quiet swallows.
  void note(std::string const& text);

  /// The line of one design step out of `steps`, under column titles before the first.
  void step(HistoryRow const& row, int steps);

  /// The same for other columns: a line of a table (without line ends) whose titles precede the first.
  /// \param seconds of this step, for the time left
  void row(std::string const& titles, std::string const& line, int step, int steps, double seconds);

  /// Removes the bar and prints the last line, also when quiet.
  void finish(std::string const& text);

 private:
  void erase_bar();
  void draw_bar(int step, int steps);

  std::ostream& out_;
  bool terminal_;
  bool quiet_;
  bool titles_printed_ = false;
  bool bar_drawn_ = false;
  double smoothed_seconds_ = -1;
};

/// "42 s", "3 min 05 s", "2 h 10 min".
std::string format_duration(double seconds);

/// "512 bytes", "1.5 MiB", "12.3 GiB".
std::string format_bytes(double bytes);

}  // namespace brickwork
