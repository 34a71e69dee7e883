// The built-in model, by its name, as --model and --draft take it:
//
//   forge-tiny                         the trained one (builtin/trained_model.h)
//   forge-tiny:seed=7,layers=2         random weights, with these values of TinyConfig
//
// A file of such a name is still reached by a path with a slash in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/reference/tiny_config.h"

namespace forge::runtime {

inline constexpr std::string_view kBuiltinModel = "forge-tiny";

struct BuiltinModel {
  std::optional<reference::TinyConfig> random;  ///< shape and seed; none: the trained model

  /// The shape of either.
  reference::TinyConfig config() const;

  friend bool operator==(const BuiltinModel&, const BuiltinModel&) = default;
};

/// "forge-tiny", or that and a colon with anything behind it.
bool is_builtin(std::string_view model);

/// Heads of random weights have the size hidden_size / heads. Errors: the key or value that is not
/// accepted, and what is accepted. Requires: is_builtin(model).
tl::expected<BuiltinModel, std::string> parse_builtin(std::string_view model);

}  // namespace forge::runtime
