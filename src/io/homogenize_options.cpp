// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/homogenize_options.hpp"

#include "brickwork/core/config.hpp"
#include "command_line.hpp"

namespace brickwork {

HomogenizeOptions parse_homogenize_options(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  HomogenizeOptions options;
  CLI::App app("Effective elasticity of periodic cells, and cells for a wanted elasticity.", "brickwork-homogenize");
  app.set_version_flag("--version", std::string("brickwork-homogenize ") + BRICKWORK_VERSION);
  app.footer(std::string(detail::exit_codes_help) +
             "Configuration files: examples/cell_*.toml and docs/homogenization.md.");
  app.require_subcommand(1);

  CLI::App* tensor = app.add_subcommand("tensor", "elasticity tensor of a given cell");
  tensor->add_option("image", options.image, "image of the cell (.vti, .vtkhdf, .series, .npy, .raw, .stl)")
      ->type_name("IMAGE");
  tensor->add_option("--config", options.config, "materials, raw layout, solver (TOML)")->type_name("CONFIG.toml");
  detail::CommonArguments tensor_arguments;
  tensor_arguments.add_to(*tensor, "image.cells");

  CLI::App* design = app.add_subcommand("design", "a cell for a wanted elasticity (inverse homogenization)");
  design->add_option("config", options.config, "configuration file (TOML)")->type_name("CONFIG.toml")->required();
  detail::CommonArguments design_arguments;
  design_arguments.add_to(*design, "cell.cells");
  design_arguments.add_steps(*design);

  options.exit_code = detail::parse_command_line(app, argc, argv, out, err, [&] {
    bool const is_tensor = tensor->parsed();
    options.command = is_tensor ? HomogenizeOptions::Command::tensor : HomogenizeOptions::Command::design;
    (is_tensor ? tensor_arguments : design_arguments).store(options);
  });
  return options;
}

}  // namespace brickwork
