// SPDX-License-Identifier: BSD-3-Clause
// Run directory, history, summary, progress and image files. read_with_vtk.py reads the latter with VTK's own readers.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "brickwork/core/check.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "brickwork/io/image_data.hpp"
#include "brickwork/io/progress.hpp"
#include "brickwork/io/run_directory.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;
using brickwork_test::read_file;
using brickwork_test::TemporaryDirectory;
using brickwork_test::write_file;

namespace {

namespace fs = std::filesystem;

std::string decode_base64(std::string const& text) {
  std::string const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (char c : text) {
    std::size_t const value = digits.find(c);
    if (value == std::string::npos) continue;
    bits = bits << 6 | static_cast<unsigned>(value);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return bytes;
}

// The asymmetric field of read_with_vtk.py.
std::vector<float> sample_field(Index3 const& n) {
  std::vector<float> values;
  for (index_t k = 0; k < n[2]; ++k) {
    for (index_t j = 0; j < n[1]; ++j) {
      for (index_t i = 0; i < n[0]; ++i) {
        values.push_back(static_cast<float>(0.001 * static_cast<double>(i) + 0.02 * static_cast<double>(j) +
                                            0.1 * static_cast<double>(k)));
      }
    }
  }
  return values;
}

// A process-wide file size limit or a full disk cannot be had in a unit test; /dev/full can.
bool has_dev_full() { return fs::exists("/dev/full"); }

}  // namespace

TEST_CASE("a .vti holds the cells in x-fastest order behind a 64-bit header") {
  TemporaryDirectory const directory;
  for (Index3 const& n : {Index3{4, 3, 2}, Index3{1, 1, 1}, Index3{5, 1, 7}, Index3{1, 100, 101}}) {
    std::vector<float> const values = sample_field(n);
    std::vector<std::uint8_t> const bytes = quantize_density(values.data(), static_cast<index_t>(values.size()));
    auto const count = static_cast<index_t>(values.size());
    write_vti(directory.file("a.vti"), {n, {1, 2, 3}, {0.5, 0.25, 0.1}},
              {{"density", values.data(), count}, {"a<b", bytes.data(), count}});
    std::string const text = read_file(directory.file("a.vti"));
    std::ostringstream extent;
    extent << "\"0 " << n[0] << " 0 " << n[1] << " 0 " << n[2] << "\"";
    CHECK(contains(text, "WholeExtent=" + extent.str() + " Origin=\"1 2 3\" Spacing=\"0.5 0.25 0.1\""));
    CHECK(contains(text, "<CellData Scalars=\"density\">"));
    CHECK(contains(text, "Name=\"a&lt;b\""));
    CHECK(contains(text, "header_type=\"UInt64\""));
    auto const payload = [&](std::string const& type) {
      std::size_t const start = text.find('\n', text.find("type=\"" + type + "\"")) + 1;
      return decode_base64(text.substr(start, text.find('\n', start) - start));
    };
    std::string const data = payload("Float32");
    REQUIRE(data.size() == 8 + 4 * values.size());
    std::uint64_t size = 0;
    std::memcpy(&size, data.data(), 8);
    CHECK(size == 4 * values.size());
    CHECK(std::memcmp(data.data() + 8, values.data(), 4 * values.size()) == 0);
    std::string const small = payload("UInt8");
    REQUIRE(small.size() == 8 + bytes.size());
    CHECK(std::memcmp(small.data() + 8, bytes.data(), bytes.size()) == 0);
  }
  CHECK(!fs::exists(directory.file("a.vti.part")));
}

TEST_CASE("slabs cover a box once, in the order of its cells, whatever its size") {
  for (Index3 const& n : {Index3{4, 3, 2}, Index3{1, 1, 1}, Index3{300, 200, 50}, Index3{1, 1, 1 << 24},
                          Index3{100000, 3000, 7}, Index3{2000000000, 2, 3}, Index3{2048, 2048, 1100}}) {
    index_t const most = slab_bytes;  // 8-bit: the most cells
    Index3 const extent = slab_extent(n, most);
    index_t next = 0, longest = 0;
    bool adjoining = true;
    for_each_slab(n, extent, [&](Slab const& slab) {
      adjoining = adjoining && slab.offset == next;
      next += slab.count();
      longest = std::max(longest, slab.count());
    });
    INFO(n[0] << " x " << n[1] << " x " << n[2]);
    CHECK(adjoining);
    CHECK(next == n[0] * n[1] * n[2]);  // the last box has more than 2^32 cells
    CHECK(longest <= most);
    CHECK(2 * longest >= std::min(most, next));
  }
  CHECK(slab_extent({10, 10, 10}, 250) == Index3{10, 10, 2});
  CHECK(slab_extent({10, 10, 10}, 99) == Index3{10, 5, 1});
  CHECK(slab_extent({10, 10, 10}, 9) == Index3{5, 1, 1});
  CHECK_THROWS_AS(slab_extent({10, 10, 10}, 0), InputError);
}

TEST_CASE("a field that a callback gives is asked for by slabs and written as an array is") {
  TemporaryDirectory const directory;
  Index3 const n{150, 130, 121};  // 9.4 MB of FP32: three slabs, the last one smaller
  ImageGeometry const geometry{n, {0, 0, 0}, {1, 1, 1}};
  std::vector<float> const values = sample_field(n);
  auto const size = static_cast<index_t>(values.size());
  index_t next = 0, calls = 0;
  bool adjoining = true;
  CellSource<float> const source = [&](index_t first, index_t count, float* out) {
    adjoining = adjoining && first == next && count * index_t(sizeof(float)) <= slab_bytes;
    next = first + count;
    ++calls;
    std::copy_n(values.data() + first, count, out);
  };
  write_vti(directory.file("slabs.vti"), geometry, {{"density", source, size}});
  CHECK(adjoining);
  CHECK(next == size);
  CHECK(calls == 3);
  write_vti(directory.file("whole.vti"), geometry, {{"density", values.data(), size}});
  CHECK(read_file(directory.file("slabs.vti")) == read_file(directory.file("whole.vti")));

  CellSource<float> const broken = [&](index_t first, index_t count, float* out) {
    if (first > 0) throw Error("the device is gone");
    std::copy_n(values.data(), count, out);
  };
  CHECK_THROWS_AS(write_vti(directory.file("broken.vti"), geometry, {{"density", broken, size}}), Error);
  if (vtkhdf_available()) {
    CHECK_THROWS_AS(write_vtkhdf(directory.file("broken.vtkhdf"), geometry, {{"density", broken, size}}), Error);
  }
  for (char const* name : {"broken.vti", "broken.vti.part", "broken.vtkhdf", "broken.vtkhdf.part"}) {
    CHECK(!fs::exists(directory.file(name)));
  }
  if (has_dev_full()) {
    fs::create_symlink("/dev/full", directory.file("full.vti.part"));
    next = calls = 0;
    std::string const message = message_of<Error>([&] {
      write_vti(directory.file("full.vti"), geometry, {{"density", source, size}});
    });
    CHECK(contains(message, "No space left"));
    CHECK(calls < 3);
  }
}

TEST_CASE("densities are quantized, clipped, and never wrap") {
  float const density[] = {0, 1, 0.5f, 1.0001f, -1e-6f, std::numeric_limits<float>::quiet_NaN()};
  CHECK(quantize_density(density, 6) == std::vector<std::uint8_t>{0, 255, 128, 255, 0, 0});
}

TEST_CASE("images of wrong size or shape are refused") {
  TemporaryDirectory const directory;
  std::vector<float> const values(24);
  std::string const path = directory.file("a.vti");
  ImageGeometry const good{{4, 3, 2}, {0, 0, 0}, {1, 1, 1}};
  CHECK_THROWS_AS(write_vti(path, good, {{"d", values.data(), 23}}), InputError);
  CHECK_THROWS_AS(write_vti(path, good, {}), InputError);
  CHECK_THROWS_AS(write_vti(path, {{4, 3, 0}, {0, 0, 0}, {1, 1, 1}}, {{"d", values.data(), 0}}), InputError);
  CHECK_THROWS_AS(write_vti(path, {{4, 3, 2}, {0, 0, 0}, {1, 0, 1}}, {{"d", values.data(), 24}}), InputError);
  CHECK_THROWS_AS(write_vti(path, good, {{"d", static_cast<float const*>(nullptr), 24}}), InputError);
  CHECK(!fs::exists(path));
  std::string const message = message_of<Error>([&] {
    write_vti(directory.file("no/a.vti"), good, {{"d", values.data(), 24}});
  });
  CHECK(contains(message, "cannot write"));
  CHECK(contains(message, "No such file"));
}

TEST_CASE("a VTKHDF series lists whole frames under their step numbers") {
  if (!vtkhdf_available()) {
    TemporaryDirectory const directory;
    CHECK_THROWS_AS(VtkHdfSeries(directory.path, "density", {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}}), Error);
    return;
  }
  // CTest's VTK test reads what this leaves where BRICKWORK_TEST_OUTPUT names a directory.
  TemporaryDirectory const temporary;
  char const* kept = std::getenv("BRICKWORK_TEST_OUTPUT");
  std::string const root = kept != nullptr ? kept : temporary.path;
  fs::create_directories(root);
  Index3 const n{4, 3, 2};
  std::vector<float> values = sample_field(n);
  ImageGeometry const geometry{n, {1, 2, 3}, {0.5, 0.25, 0.1}};
  write_vti(root + "/density.vti", geometry, {{"density", values.data(), 24}});
  std::vector<std::uint8_t> const bytes = quantize_density(values.data(), 24);
  VtkHdfSeries series(root, "density", geometry);
  series.append(1, {{"density", values.data(), 24}, {"density_uint8", bytes.data(), 24}});
  std::string json = read_file(root + "/density.vtkhdf.series");
  CHECK(contains(json, "{\"name\": \"density_frames/density_0001.vtkhdf\", \"time\": 1}"));
  for (float& value : values) value += 1;
  series.append(10, {{"density", values.data(), 24}, {"density_uint8", bytes.data(), 24}});
  json = read_file(root + "/density.vtkhdf.series");
  CHECK(contains(json, "\"time\": 1},\n"));
  CHECK(contains(json, "{\"name\": \"density_frames/density_0010.vtkhdf\", \"time\": 10}\n"));
  CHECK(series.frames() == 2);
  CHECK_THROWS_AS(series.append(10, {{"density", values.data(), 24}}), InputError);
  CHECK_THROWS_AS(series.append(11, {{"density", values.data(), 20}}), InputError);
  CHECK(series.frames() == 2);
  CHECK(fs::exists(root + "/density_frames/density_0010.vtkhdf"));
  CHECK(!fs::exists(root + "/density_frames/density_0010.vtkhdf.part"));

  // One cell on an axis: sampled on both faces.
  std::vector<float> const line = sample_field({5, 1, 1});
  write_vtkhdf(root + "/line.vtkhdf", {{5, 1, 1}, {0, 0, 0}, {1, 2, 3}}, {{"density", line.data(), 5}});
  // Several slabs, the last one smaller; cells twice along an axis; compressed.
  auto const write_large = [&](std::string const& name, Index3 const& cells, int deflate) {
    std::vector<float> const large = sample_field(cells);
    write_vtkhdf(root + "/" + name, {cells, {0, 0, 0}, {1, 1, 1}},
                 {{"density", large.data(), static_cast<index_t>(large.size())}}, deflate);
    return fs::file_size(root + "/" + name);
  };
  auto const plain = write_large("slabs.vtkhdf", {150, 130, 121}, 0);
  CHECK(plain < 1.05 * 4 * 150 * 130 * 121);
  CHECK(write_large("sheet.vtkhdf", {1, 1200, 1100}, 0) > 2 * 4 * 1200 * 1100);
  CHECK(2 * write_large("deflated.vtkhdf", {150, 130, 121}, 1) < plain);
  CHECK_THROWS_AS(write_large("level.vtkhdf", {2, 2, 2}, 10), InputError);
  std::string const message = message_of<Error>([&] {
    write_vtkhdf(root + "/no/a.vtkhdf", {{5, 1, 1}, {0, 0, 0}, {1, 1, 1}}, {{"density", line.data(), 5}});
  });
  CHECK(contains(message, "cannot write"));
}

TEST_CASE("atomic files keep the old content until they are whole") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.txt");
  write_text_file(path, "old");
  {
    AtomicFile file(path);
    file.stream() << "half";
  }
  CHECK(read_file(path) == "old");
  CHECK(!fs::exists(path + ".part"));
  write_text_file(path, "new");
  CHECK(read_file(path) == "new");
  if (has_dev_full()) {
    fs::create_symlink("/dev/full", directory.file("full.txt.part"));
    std::string const message = message_of<Error>([&] { write_text_file(directory.file("full.txt"), "text"); });
    CHECK(contains(message, "No space left"));
    CHECK(!fs::exists(directory.file("full.txt")));
  }
}

TEST_CASE("an output directory is created, and never overwritten unasked") {
  TemporaryDirectory const directory;
  RunDirectory const fresh(directory.file("a/b/c"));
  CHECK(fs::is_directory(directory.file("a/b/c")));
  CHECK(fs::is_empty(directory.file("a/b/c")));
  CHECK_NOTHROW(RunDirectory(directory.file("a/b/c")));  // still empty

  write_file(fresh.file("history.csv"), "old");
  write_file(fresh.file("notes.txt"), "mine");
  fs::create_directories(fresh.file("density_frames"));
  write_file(fresh.file("density_frames/density_0001.vtkhdf"), "old");
  write_file(fresh.file("density_frames/mine.vtkhdf"), "mine");
  std::string const message = message_of<InputError>([&] { RunDirectory{directory.file("a/b/c")}; });
  CHECK(contains(message, "exists and is not empty"));
  CHECK(contains(message, "--force"));
  CHECK(read_file(fresh.file("history.csv")) == "old");

  CHECK_NOTHROW(RunDirectory(directory.file("a/b/c"), true));
  CHECK(!fs::exists(fresh.file("history.csv")));
  CHECK(!fs::exists(fresh.file("density_frames/density_0001.vtkhdf")));
  CHECK(read_file(fresh.file("density_frames/mine.vtkhdf")) == "mine");
  CHECK(read_file(fresh.file("notes.txt")) == "mine");
}

TEST_CASE("an output that cannot be written is refused before anything is computed") {
  TemporaryDirectory const directory;
  write_file(directory.file("file"), "x");
  for (bool force : {false, true}) {
    CHECK(contains(message_of<InputError>([&] { RunDirectory{directory.file("file"), force}; }), "is not a directory"));
    CHECK(contains(message_of<InputError>([&] { RunDirectory{directory.file("file/below"), force}; }), "directory"));
    CHECK_THROWS_AS(RunDirectory("", force), InputError);
  }
  CHECK(read_file(directory.file("file")) == "x");
  CHECK_THROWS_AS(RunDirectory("/proc/brickwork-test"), InputError);  // not even root can write there
}

TEST_CASE("history.csv has one row per step under matching titles") {
  TemporaryDirectory const directory;
  RunDirectory run(directory.file("run"));
  HistoryRow row;
  row.step = 1;
  row.compliance = 13.423231;
  row.volume = 0.1 + 0.2;
  row.iterations = 5000000000;
  row.true_residual = 1e-5;
  row.capped = true;
  row.seconds = std::numeric_limits<double>::quiet_NaN();
  run.append_history(row);
  std::string const header = history_header();
  CHECK(read_file(run.file("history.csv")) ==
        header + "1,13.423231,0.30000000000000004,0,0,5000000000,1e-05,1,0,0,0,0,0,0,0,nan\n");
  row.step = 2;
  run.append_history(row);
  std::string const text = read_file(run.file("history.csv"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(std::count(text.begin(), text.end(), ',') == 3 * std::count(header.begin(), header.end(), ','));
}

TEST_CASE("summary.json is JSON whatever the numbers and strings") {
  TemporaryDirectory const directory;
  RunDirectory run(directory.file("run"));
  RunSummary summary;
  summary.name = "a \"b\"\\\n\x01";
  summary.compliance = std::numeric_limits<double>::quiet_NaN();
  summary.volume = -std::numeric_limits<double>::infinity();
  summary.grayness = 1e-5;
  summary.cells = {80, 40, 20};
  summary.seconds_per_phase = {{"filter", 1.5}, {"solve", std::numeric_limits<double>::infinity()}};
  summary.load_resultants = {{0, -1, 0}, {1.5, 0, 2}};
  summary.versions = {{"brickwork", "0.1.0"}, {"kokkos", "3.4.1"}};
  summary.warnings = {"one"};
  run.write_summary(summary);
  std::string const json = read_file(run.file("summary.json"));
  CHECK(contains(json, R"("name": "a \"b\"\\\n\u0001")"));
  CHECK(contains(json, "\"compliance\": null"));
  CHECK(contains(json, "\"volume\": null"));
  CHECK(contains(json, "\"grayness\": 1e-05"));
  CHECK(contains(json, "\"cells\": [80, 40, 20]"));
  CHECK(contains(json, R"("seconds_per_phase": {"filter": 1.5, "solve": null})"));
  CHECK(contains(json, "\"load_resultants\": [[0, -1, 0], [1.5, 0, 2]]"));
  CHECK(contains(json, R"("versions": {"brickwork": "0.1.0", "kokkos": "3.4.1"})"));
  CHECK(!contains(json, "nan"));
  CHECK(!contains(json, "inf,"));
}

TEST_CASE("the console is plain lines, or lines and a bar on a terminal, or next to nothing when quiet") {
  HistoryRow row;
  row.step = 1;
  row.compliance = 13.423231;
  row.seconds = 2;
  auto const print = [&](bool terminal, bool quiet) {
    std::ostringstream out;
    Progress progress(out, terminal, quiet);
    progress.header({{"grid", "80 x 40 x 20"}, {"degrees of freedom", "209223"}});
    progress.note("a note");
    progress.step(row, 3);
    HistoryRow last = row;
    last.step = 3;
    last.capped = true;
    progress.warning("a warning");
    progress.step(last, 3);
    progress.finish("done");
    return out.str();
  };
  std::string const plain = print(false, false);
  CHECK(contains(plain, "  grid                80 x 40 x 20\n  degrees of freedom  209223\n"));
  CHECK(contains(plain, "13.42323"));
  CHECK(contains(plain, "capped\n"));
  CHECK(!contains(plain, "\r"));
  CHECK(!contains(plain, "\033"));
  std::string const terminal = print(true, false);
  CHECK(contains(terminal, "]  33%  about 4.0 s left\r\033[Kwarning: a warning\n"));
  CHECK(!contains(terminal, "100%"));
  CHECK(print(true, true) == "warning: a warning\ndone\n");
}

TEST_CASE("durations and bytes") {
  CHECK(format_duration(0.04) == "0.0 s");
  CHECK(format_duration(42.4) == "42 s");
  CHECK(format_duration(185) == "3 min 05 s");
  CHECK(format_duration(7800) == "2 h 10 min");
  CHECK(format_duration(-1) == "unknown");
  CHECK(format_bytes(512) == "512 bytes");
  CHECK(format_bytes(1.5 * 1024 * 1024) == "1.5 MiB");
  CHECK(format_bytes(139.0 * 1024 * 1024 * 1024) == "139 GiB");
}
