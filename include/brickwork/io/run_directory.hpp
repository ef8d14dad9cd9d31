// SPDX-License-Identifier: BSD-3-Clause
// The directory that a run leaves behind: config.toml, history.csv, summary.json and the fields. Free of Kokkos.
// docs/output.md describes every file.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// One design step, as history.csv and the console show it. Times are in seconds.
struct HistoryRow {
  int step = 0;              ///< counts from 1
  double compliance = 0;     ///< f . u, sum over load cases with their weights
  double volume = 0;         ///< volume fraction of the projected density
  double grayness = 0;       ///< 4/N sum rho (1 - rho), 0 to 1
  double change = 0;         ///< largest change of a design variable in this step
  index_t iterations = 0;    ///< of all solves in this step
  double true_residual = 0;  ///< |f - K u| / |f|, the worst of the step's solves
  bool capped = false;       ///< some solve hit its iteration limit
  double penalization = 0;
  double beta = 0;
  double move = 0;
  double radius = 0;  ///< filter radius in the configuration's unit
  double seconds_filter = 0;
  double seconds_solve = 0;
  double seconds_update = 0;
  double seconds = 0;  ///< the whole step
};

/// What the summary.json of any run says. Numbers that are not finite are written as null.
struct RunFacts {
  std::string name;
  std::string status = "finished";  ///< finished, capped, interrupted or failed
  Index3 cells{};
  index_t degrees_of_freedom = 0;
  std::string backend;
  std::string kernel;
  std::string precision;
  std::string device;
  index_t iterations_total = 0;
  double worst_true_residual = 0;
  int capped_solves = 0;
  double seconds_total = 0;
  std::vector<std::pair<std::string, double>> seconds_per_phase;
  double peak_bytes = 0;
  double predicted_bytes = 0;
  std::vector<std::pair<std::string, std::string>> versions;
  std::vector<std::string> warnings;
};

/// What a run of brickwork-simp was and gave.
struct RunSummary : RunFacts {
  double compliance = 0;  ///< the reported one (best valid iterate where the schedule selects it)
  double volume = 0;
  double grayness = 0;
  int steps = 0;
  int reported_step = 0;              ///< step of the reported design
  std::string stiffness;              ///< physical or reference_cube
  std::vector<Vec3> load_resultants;  ///< resultant force per load case
};

/// summary.json's text.
std::string to_json(RunSummary const& summary);

/// Header and line of history.csv, each with its line end.
std::string history_header();
std::string to_csv(HistoryRow const& row);

/// Creates and fills an output directory.
///
/// config.toml and summary.json appear whole or not at all; history.csv grows by whole lines, so it is readable while
/// the run goes on and after it was killed.
class RunDirectory {
 public:
  /// Creates the directory with its parents and checks that it can be written to, before anything is computed.
  /// With `force`, results of an earlier run in it (the files named in docs/output.md) are removed; other files stay.
  /// \throws InputError where the path is a file, where the directory holds something and `force` is false, or where it
  ///         cannot be created or written to
  explicit RunDirectory(std::string path, bool force = false);

  std::string const& path() const { return path_; }
  std::string file(std::string const& name) const { return path_ + "/" + name; }

  void write_config(std::string const& toml);     ///< config.toml
  void append_history(HistoryRow const& row);     ///< history.csv; \throws Error where the line cannot be written
  void write_summary(RunSummary const& summary);  ///< summary.json

  /// history.csv of other columns: `header` precedes the first line; both with their line ends.
  void append_history(std::string const& header, std::string const& line);
  void write_summary(std::string const& json);

 private:
  std::string path_;
  std::ofstream history_;
};

}  // namespace brickwork
