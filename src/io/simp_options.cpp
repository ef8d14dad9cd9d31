// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/simp_options.hpp"

#include "brickwork/core/config.hpp"
#include "command_line.hpp"

namespace brickwork {

SimpOptions parse_simp_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  SimpOptions options;
  CLI::App app("Density topology optimization (SIMP) of a box of brick cells.", "brickwork-simp");
  app.set_version_flag("--version", std::string("brickwork-simp ") + BRICKWORK_VERSION);
  app.footer(std::string(detail::exit_codes_help) + "Configuration files: examples/*.toml and docs/configuration.md.");
  app.add_option("config", options.config, "configuration file (TOML)")->type_name("CONFIG.toml")->required();
  detail::CommonArguments common;
  common.add_to(app, "grid.cells");
  common.add_steps(app);
  options.exit_code = detail::parse_command_line(app, argc, argv, out, err, [&] { common.store(options); });
  return options;
}

}  // namespace brickwork
