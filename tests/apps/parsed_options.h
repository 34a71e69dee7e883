// The options of a target, read from a command line as programs do.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/runtime/target_options.h"
#include "target_flags.h"

namespace forge::apps {

/// All flags, as a program has them.
inline void add_flags(CLI::App& app, runtime::TargetOptions& options) {
  constexpr std::array kKinds{runtime::TargetKind::cpu, runtime::TargetKind::sim,
                              runtime::TargetKind::cuda, runtime::TargetKind::null};
  add_target_choice(app, options.kind, "where", kKinds);
  add_target_options(app, options);
  add_device_options(app, options.device);
}

/// The options after a command line, or the error's text.
inline tl::expected<runtime::TargetOptions, std::string> parsed(
    std::vector<std::string> arguments) {
  CLI::App app;
  runtime::TargetOptions options;
  add_flags(app, options);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(std::string(error.what()));
  }
  std::string misplaced = misplaced_flag(app, options.kind);
  if (!misplaced.empty()) return tl::unexpected(std::move(misplaced));
  return options;
}

}  // namespace forge::apps
