#include "lora_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/formats/json_tree.h"
#include "forge/json/fields.h"

namespace forge::checkpoint::detail {
namespace {

using json::Fields;

constexpr IntegerRange kRanks{1, 1 << 20};
constexpr NumberRange kAlphas{-1e9, 1e9};

/// Keys that do not concern the product: names and versions, settings of a training and of how its
/// first numbers were drawn.
constexpr std::string_view kOfNoConcern[] = {
    "arrow_config",    "auto_mapping",      "base_model_name_or_path",
    "corda_config",    "eva_config",        "inference_mode",
    "loftq_config",    "lora_dropout",      "lora_ga_config",
    "megatron_config", "megatron_core",     "parent_library",
    "peft_version",    "qalora_group_size", "revision",
    "runtime_config",  "task_type",         "ensure_weight_tying"};

/// Keys that are read below.
constexpr std::string_view kRead[] = {"alpha_pattern",     "bias",
                                      "exclude_modules",   "fan_in_fan_out",
                                      "init_lora_weights", "layers_pattern",
                                      "lora_alpha",        "layers_to_transform",
                                      "peft_type",         "r",
                                      "rank_pattern",      "target_modules",
                                      "use_rslora"};

bool is_one_of(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

/// Whether a member asks for nothing.
bool is_off(const nlohmann::json* value) {
  if (value == nullptr || (value->is_boolean() && !value->get<bool>())) return true;
  return (value->is_array() || value->is_object()) && value->empty();
}

/// A text of letters, digits and underscores, parts with points between them.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

/// Members of an object of numbers; `read` reads one.
template <class Read>
void read_patterns(const Fields& fields, std::string_view key, ModuleNumbers& out,
                   const Read& read) {
  const auto patterns = fields.object(key);
  if (!patterns) return;
  for (const std::string& pattern : patterns->keys()) {
    if (!is_name(pattern.starts_with('^') ? std::string_view(pattern).substr(1) : pattern)) {
      fields.refuse(key, "has the pattern " + in_quotes(pattern) +
                             "; accepted are names of modules or their ends, without other "
                             "regular expressions");
      return;
    }
    out.patterns.emplace(pattern, read(*patterns, pattern));
  }
}

/// Numbers that were drawn so that PEFT changes the base, too, when it opens the adapter.
void refuse_other_bases(const Fields& fields) {
  constexpr const char* kKey = "init_lora_weights";
  const nlohmann::json* const value = fields.find(kKey);
  if (value == nullptr || value->is_boolean()) return;
  const std::string name = value->is_string() ? value->get<std::string>() : "";
  for (const std::string_view accepted : {"gaussian", "eva", "orthogonal"}) {
    if (name == accepted) return;
  }
  fields.fail(kKey,
              "true, false, \"gaussian\", \"eva\" or \"orthogonal\"; with others the adapter is "
              "not one of the base as it is");
}

/// What would change the product in another way. A key that is not known may do that, too.
void refuse_other_products(const Fields& fields) {
  fields.only("bias", "none");
  fields.only("fan_in_fan_out", false);
  refuse_other_bases(fields);
  for (const std::string& key : fields.keys()) {
    if (is_one_of(kOfNoConcern, key) || is_one_of(kRead, key) || is_off(fields.find(key))) continue;
    fields.fail(key, "null, false or an empty list: nothing but A and B is merged");
  }
}

/// A list that names the modules by their ends. A single text is a regular expression.
void read_targets(const Fields& fields, LoraConfig& out) {
  const nlohmann::json* const value = fields.find("target_modules");
  const bool all = is_off(fields.find("exclude_modules")) &&
                   is_off(fields.find("layers_to_transform")) &&
                   is_off(fields.find("layers_pattern"));
  if (value == nullptr || value->is_string()) return;
  std::vector<std::string> targets = fields.texts("target_modules");
  if (all) out.targets = std::move(targets);
}

}  // namespace

bool ends_in(std::string_view module, std::string_view end) {
  if (!module.ends_with(end)) return false;
  const std::size_t rest = module.size() - end.size();
  return rest == 0 || module[rest - 1] == '.';
}

tl::expected<double, std::string> ModuleNumbers::of(std::string_view module) const {
  const std::pair<const std::string, double>* found = nullptr;
  for (const auto& entry : patterns) {
    const std::string_view pattern = entry.first;
    const bool fits =
        pattern.starts_with('^') ? module == pattern.substr(1) : ends_in(module, pattern);
    if (!fits) continue;
    if (found != nullptr && found->second != entry.second) {
      return tl::unexpected("fits the patterns " + in_quotes(found->first) + " and " +
                            in_quotes(pattern) + "; accepted are patterns that agree");
    }
    found = &entry;
  }
  return found == nullptr ? usual : found->second;
}

double LoraConfig::factor(double rank_of_module, double alpha_of_module) const {
  return alpha_of_module / (by_root ? std::sqrt(rank_of_module) : rank_of_module);
}

tl::expected<LoraConfig, formats::FileError> parse_lora_config(std::string_view text,
                                                               const std::string& path) {
  const auto tree = formats::parse_json_object(text, path);
  if (!tree) return tl::unexpected(tree.error());
  json::Fault fault;
  const Fields fields(*tree, "", fault);
  LoraConfig out;
  if (!fields.has("peft_type")) fields.fail("peft_type", "\"LORA\"");
  fields.one_of("peft_type", {"LORA"});
  refuse_other_products(fields);
  out.rank.usual = fields.integer("r", kRanks);
  out.alpha.usual = fields.number("lora_alpha", kAlphas);
  out.by_root = fields.boolean("use_rslora", false);
  read_patterns(fields, "rank_pattern", out.rank, [](const Fields& in, const std::string& key) {
    return static_cast<double>(in.integer(key, kRanks));
  });
  read_patterns(fields, "alpha_pattern", out.alpha,
                [](const Fields& in, const std::string& key) { return in.number(key, kAlphas); });
  read_targets(fields, out);
  if (fault.is_set()) {
    return tl::unexpected(formats::FileError{.file = path, .message = std::move(fault.message)});
  }
  return out;
}

}  // namespace forge::checkpoint::detail
