#include "notes.h"

#include <algorithm>
#include <string_view>

#include "families.h"
#include "forge/core/range.h"

namespace forge::checkpoint::detail {
namespace {

/// Whether a tensor is of a layer after the last: "model.layers.61.embed_tokens.weight" of 61.
bool is_after_last_layer(std::string_view name, int layers) {
  for (const std::string_view prefix : {"model.layers.", "blk."}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    const std::string digits(name.substr(0, name.find('.')));
    constexpr std::size_t kDigitsMax = 6;
    return !digits.empty() && digits.size() <= kDigitsMax &&
           digits.find_first_not_of("0123456789") == digits.npos && std::stoi(digits) >= layers;
  }
  return false;
}

std::string count_of(std::ptrdiff_t count) {
  return std::to_string(count) + (count == 1 ? " tensor" : " tensors");
}

class Notes {
 public:
  Notes(const TensorFile& file, const model::ModelConfig& config) : file_(file), config_(config) {}

  void of_unused(std::span<const std::string> unused) {
    const auto is_extra = [&](const std::string& name) {
      return is_after_last_layer(name, config_.layers);
    };
    const auto extra = std::ranges::count_if(unused, is_extra);
    if (extra > 0) {
      add(count_of(extra) + " of layers after the last of " + std::to_string(config_.layers) +
          ", as of heads that predict several tokens, are not used: the first is '" +
          *std::ranges::find_if(unused, is_extra) + "'");
    }
    const auto others = std::ssize(unused) - extra;
    if (others > 0) {
      add(count_of(others) + " that no part of the model has a use for: the first is '" +
          *std::ranges::find_if_not(unused, is_extra) + "'");
    }
  }

  void of_rope() {
    const std::string context = std::to_string(config_.positions);
    if (std::holds_alternative<model::DynamicRope>(config_.rope.scaling)) {
      add("dynamic scaling of RoPE changes nothing within the context of " + context);
    }
    if (const auto* both = std::get_if<model::LongRope>(&config_.rope.scaling)) {
      add(std::string("LongRoPE has its ") + (both->is_long ? "long" : "short") +
          " factors for every text, as the context is " + context + ", trained for " +
          number_text(both->original_positions));
    }
  }

  /// Keys that older converters left out, and that change the model.
  void of_missing_keys() {
    if (file_.gguf() == nullptr || !config_.experts) return;
    const auto architecture = file_.gguf()->text("general.architecture");
    const std::string prefix = std::string(architecture.value_or("")) + ".";
    const auto lacks = [&](const char* key) {
      return file_.gguf()->value(prefix + key) == nullptr;
    };
    if (config_.experts->correction_bias && lacks("expert_group_count")) {
      add(prefix + "expert_group_count is missing: experts are chosen among all, not by groups");
    }
    const Family* const family = family_of(config_);
    const bool always = family != nullptr && (family->experts == Experts::mixtral ||
                                              family->experts == Experts::gpt_oss);
    if (!always && lacks("expert_weights_norm")) {
      add(prefix + "expert_weights_norm is missing: the weights of a token's experts are " +
          (config_.experts->normalized ? "normalized" : "not normalized"));
    }
  }

  /// Keys of properties that other families have.
  void of_keys_passed_over() {
    const Family* const family = family_of(config_);
    if (file_.gguf() == nullptr || family == nullptr) return;
    const std::string prefix = std::string(family->architecture) + ".";
    const auto pass_over = [&](bool is_read, const char* key) {
      if (is_read || file_.gguf()->value(prefix + key) == nullptr) return;
      add(prefix + key + " is there and not used, as in other runtimes");
    };
    for (const char* const key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
      pass_over(family->caps, key);
    }
    for (const char* const key : {"embedding_scale", "residual_scale", "logit_scale"}) {
      pass_over(family->multipliers, key);
    }
    pass_over(family->multipliers || family->query_scalar, "attention.scale");
  }

  std::vector<std::string> take() && { return std::move(notes_); }

 private:
  void add(std::string note) { notes_.push_back(std::move(note)); }

  const TensorFile& file_;
  const model::ModelConfig& config_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> notes_of(const TensorFile& file, const model::ModelConfig& config,
                                  std::span<const std::string> unused) {
  Notes notes(file, config);
  notes.of_unused(unused);
  notes.of_rope();
  notes.of_missing_keys();
  notes.of_keys_passed_over();
  return std::move(notes).take();
}

}  // namespace forge::checkpoint::detail
