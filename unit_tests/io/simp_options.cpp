// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/simp_options.hpp"

#include <sstream>
#include <vector>

#include "brickwork/core/config.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;

namespace {

struct Parsed {
  SimpOptions options;
  std::string out;
  std::string err;
};

Parsed parse(std::vector<char const*> arguments) {
  arguments.insert(arguments.begin(), "brickwork-simp");
  std::ostringstream out, err;
  Parsed parsed;
  parsed.options = parse_simp_options(static_cast<int>(arguments.size()), arguments.data(), out, err);
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

}  // namespace

TEST_CASE("every option arrives") {
  SimpOptions const o = parse({"a.toml", "--grid", "80,40,20", "--steps", "7", "--output", "out dir", "--set", "a.b=1",
                               "--set", "c.d=[1, 2]", "--print-config", "--threads", "3", "--device", "1", "--quiet",
                               "--force", "--kokkos-print-configuration"})
                            .options;
  CHECK(!o.exit_code);
  CHECK(o.config == "a.toml");
  CHECK(*o.overrides.grid == Index3{80, 40, 20});
  CHECK(*o.overrides.steps == 7);
  CHECK(*o.overrides.output == "out dir");
  CHECK(o.overrides.set == std::vector<std::string>{"a.b=1", "c.d=[1, 2]"});
  CHECK(o.print_config);
  CHECK(*o.overrides.threads == 3);
  CHECK(*o.overrides.device == 1);
  CHECK(o.overrides.quiet);
  CHECK(o.force);
}

TEST_CASE("options left out stay unset, and --set does not swallow the file") {
  SimpOptions const o = parse({"--set", "a.b=1", "a.toml"}).options;
  CHECK(!o.exit_code);
  CHECK(o.config == "a.toml");
  CHECK(!o.overrides.grid);
  CHECK(!o.overrides.steps);
  CHECK(!o.overrides.output);
  CHECK(!o.overrides.threads);
  CHECK(!o.overrides.device);
  CHECK(!o.overrides.quiet);
}

TEST_CASE("help and version end with 0, bad usage with 2 and one line") {
  Parsed const help = parse({"--help"});
  CHECK(help.options.exit_code == 0);
  CHECK(contains(help.out, "--print-config"));
  Parsed const version = parse({"--version"});
  CHECK(version.options.exit_code == 0);
  CHECK(version.out == std::string("brickwork-simp ") + BRICKWORK_VERSION + "\n");
  for (std::vector<char const*> const& bad :
       std::vector<std::vector<char const*>>{{},
                                             {"a.toml", "--grid", "1,2"},
                                             {"a.toml", "--grid", "0,2,3"},
                                             {"a.toml", "--grid", "1,2,3,4"},
                                             {"a.toml", "--grid", "1,2,99999999999999999999"},
                                             {"a.toml", "--steps", "0"},
                                             {"a.toml", "--steps", "x"},
                                             {"a.toml", "--threads", "-1"},
                                             {"a.toml", "--output", ""},
                                             {"a.toml", "b.toml"},
                                             {"a.toml", "--nonsense"}}) {
    Parsed const parsed = parse(bad);
    CHECK(parsed.options.exit_code == 2);
    CHECK(parsed.err.rfind("brickwork-simp: ", 0) == 0);
    CHECK(parsed.err.find('\n') == parsed.err.size() - 1);
  }
}
