// adapter_config.json: how PEFT describes a LoRA adapter.
//
// Pure, thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "forge/formats/file_error.h"

namespace forge::checkpoint::detail {

/// Numbers that some modules have in place of the one that all others have.
struct ModuleNumbers {
  double usual = 0;
  /// By the end of a module's name, from a point on, "mlp.down_proj"; "^" and the whole name.
  std::map<std::string, double> patterns = {};

  /// That of a module. Errors: two patterns that fit it and disagree; PEFT would take the first of
  /// the file.
  tl::expected<double, std::string> of(std::string_view module) const;
};

struct LoraConfig {
  ModuleNumbers rank;
  ModuleNumbers alpha;
  bool by_root = false;  ///< use_rslora
  /// Ends of the names of all modules that have an adapter; none where the file does not list them,
  /// or leaves some of them out.
  std::vector<std::string> targets = {};

  /// What the product of a module's matrices is multiplied by, but for the adapter's own scale.
  double factor(double rank_of_module, double alpha_of_module) const;
};

/// Whether `module` is `end`, or ends in a point and `end`.
bool ends_in(std::string_view module, std::string_view end);

/// Reads the text of an adapter_config.json; `path` is for errors. Errors: those of
/// formats/json_tree.h; a value is missing, of another kind, out of its range, or asks for a
/// computation that merging is not; a key that is not known and says anything.
tl::expected<LoraConfig, formats::FileError> parse_lora_config(std::string_view json,
                                                               const std::string& path);

}  // namespace forge::checkpoint::detail
