// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/run_directory.hpp"

#include <filesystem>
#include <system_error>

#include "brickwork/core/check.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "format.hpp"
#include "run_facts.hpp"

namespace brickwork {

using detail::format_double;
using detail::json_list;
using detail::json_number;
using detail::json_string;

namespace {

namespace fs = std::filesystem;

// Everything that a run or brickwork-view writes: what `force` clears, so that no stale file passes for a new result.
char const* const result_files[] = {"config.toml",     "history.csv",
                                    "summary.json",    "density.vti",
                                    "density.stl",     "density.vtkhdf.series",
                                    "convergence.png", "view_front.png",
                                    "view_back.png",   "density_passive.vti",
                                    "C.csv",           "density.npy",
                                    "cell.stl",        "cell.png",
                                    "cell_tiled.png",  "young.png",
                                    "convergence.csv", "solution.vtkhdf",
                                    "solution.png"};

void remove_results(std::string const& path) {
  auto const check = [&](std::error_code const& error, fs::path const& file) {
    if (error) throw InputError("cannot replace '" + file.string() + "': " + error.message());
  };
  std::error_code error;
  for (char const* name : result_files) {
    fs::remove(fs::path(path) / name, error);
    check(error, fs::path(path) / name);
  }
  fs::path const frames = fs::path(path) / "density_frames";
  if (!fs::is_directory(frames, error)) return;
  std::vector<fs::path> stale;
  for (auto const& entry : fs::directory_iterator(frames, error)) {
    fs::path const& file = entry.path();
    if (file.extension() == ".vtkhdf" && file.filename().string().rfind("density_", 0) == 0) stale.push_back(file);
  }
  for (fs::path const& file : stale) {
    fs::remove(file, error);
    check(error, file);
  }
}

}  // namespace

std::string history_header() {
  return "step,compliance,volume,grayness,change,iterations,true_residual,capped,penalization,beta,move,radius,"
         "seconds_filter,seconds_solve,seconds_update,seconds\n";
}

std::string to_csv(HistoryRow const& row) {
  std::string line = std::to_string(row.step);
  auto const add = [&](std::string const& text) { line += "," + text; };
  for (double value : {row.compliance, row.volume, row.grayness, row.change}) add(format_double(value));
  add(std::to_string(row.iterations));
  add(format_double(row.true_residual));
  add(row.capped ? "1" : "0");
  for (double value : {row.penalization, row.beta, row.move, row.radius, row.seconds_filter, row.seconds_solve,
                       row.seconds_update, row.seconds}) {
    add(format_double(value));
  }
  return line + "\n";
}

void detail::add_facts(JsonObject& json, RunFacts const& facts) {
  auto const quoted = [](std::string const& text) { return json_string(text); };
  json.add("cells", json_list(facts.cells, '[', ']', [](index_t n) { return std::to_string(n); }));
  json.add("degrees_of_freedom", std::to_string(facts.degrees_of_freedom));
  json.add("backend", json_string(facts.backend));
  json.add("kernel", json_string(facts.kernel));
  json.add("precision", json_string(facts.precision));
  json.add("device", json_string(facts.device));
  json.add("iterations_total", std::to_string(facts.iterations_total));
  json.add("worst_true_residual", json_number(facts.worst_true_residual));
  json.add("capped_solves", std::to_string(facts.capped_solves));
  json.add("seconds_total", json_number(facts.seconds_total));
  json.add("seconds_per_phase", json_list(facts.seconds_per_phase, '{', '}', [](auto const& phase) {
             return json_string(phase.first) + ": " + json_number(phase.second);
           }));
  json.add("peak_bytes", json_number(facts.peak_bytes));
  json.add("predicted_bytes", json_number(facts.predicted_bytes));
  json.add("versions", json_list(facts.versions, '{', '}', [](auto const& version) {
             return json_string(version.first) + ": " + json_string(version.second);
           }));
  json.add("warnings", json_list(facts.warnings, '[', ']', quoted));
}

std::string to_json(RunSummary const& s) {
  detail::JsonObject json;
  json.add("name", json_string(s.name));
  json.add("status", json_string(s.status));
  json.add("compliance", json_number(s.compliance));
  json.add("volume", json_number(s.volume));
  json.add("grayness", json_number(s.grayness));
  json.add("steps", std::to_string(s.steps));
  json.add("reported_step", std::to_string(s.reported_step));
  json.add("stiffness", json_string(s.stiffness));
  json.add("load_resultants",
           json_list(s.load_resultants, '[', ']', [](Vec3 const& v) { return json_list(v, '[', ']', json_number); }));
  detail::add_facts(json, s);
  return json.text();
}

RunDirectory::RunDirectory(std::string path, bool force) : path_(std::move(path)) {
  BRICKWORK_REQUIRE(!path_.empty(), "output directory: the path is empty; set output.directory or --output");
  std::error_code error;
  fs::file_status const status = fs::status(path_, error);
  if (fs::exists(status)) {
    BRICKWORK_REQUIRE(fs::is_directory(status), "output directory '", path_,
                      "' is not a directory; choose another with --output");
    bool const empty = fs::is_empty(path_, error);
    BRICKWORK_REQUIRE(!error, "cannot read output directory '", path_, "': ", error.message());
    BRICKWORK_REQUIRE(empty || force, "output directory '", path_,
                      "' exists and is not empty; choose another with --output or overwrite its results with --force");
  } else {
    fs::create_directories(path_, error);
    BRICKWORK_REQUIRE(!error, "cannot create output directory '", path_, "': ", error.message());
  }
  try {
    write_text_file(file(".brickwork-write-test"), "");
  } catch (Error const& problem) {
    throw InputError("cannot write to output directory '" + path_ + "': " + problem.what());
  }
  fs::remove(file(".brickwork-write-test"), error);
  if (force) remove_results(path_);
}

void RunDirectory::write_config(std::string const& toml) { write_text_file(file("config.toml"), toml); }

void RunDirectory::append_history(std::string const& header, std::string const& line) {
  if (!history_.is_open()) {
    history_.open(file("history.csv"), std::ios::binary | std::ios::trunc);
    history_ << header;
  }
  history_ << line << std::flush;
  if (!history_) throw Error("cannot write '" + file("history.csv") + "' (no space left?)");
}

void RunDirectory::append_history(HistoryRow const& row) { append_history(history_header(), to_csv(row)); }

void RunDirectory::write_summary(std::string const& json) { write_text_file(file("summary.json"), json); }

void RunDirectory::write_summary(RunSummary const& summary) { write_summary(to_json(summary)); }

}  // namespace brickwork
