// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/biharmonic_options.hpp"

#include "brickwork/core/config.hpp"
#include "command_line.hpp"

namespace brickwork {

BiharmonicOptions parse_biharmonic_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  BiharmonicOptions options;
  CLI::App app("Plates and the biharmonic problem with cubic Hermite elements and local multigrid.",
               "brickwork-biharmonic");
  app.set_version_flag("--version", std::string("brickwork-biharmonic ") + BRICKWORK_VERSION);
  app.footer(std::string(detail::exit_codes_help) +
             "Configuration files: examples/clamped_*.toml, examples/plate_*.toml and docs/biharmonic.md.");
  app.add_option("config", options.config, "configuration file (TOML)")->type_name("CONFIG.toml")->required();
  detail::CommonArguments common;
  common.add_to(app, "domain.cells");
  options.exit_code = detail::parse_command_line(app, argc, argv, out, err, [&] { common.store(options); });
  return options;
}

}  // namespace brickwork
