#include "forge/model/config_digest.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "forge/core/digest.h"
#include "forge/model/config_fields.h"

namespace forge::model {
namespace {

/// Fields that came after the first digests were written down. Where one says nothing, as in all
/// models of that time, it is left out; otherwise its name goes before it.
bool came_later(std::string_view field) {
  constexpr std::string_view kLater[] = {"full_layers",
                                         "score_cap",
                                         "experts.shared_gate",
                                         "window_rope",
                                         "unturned_layers",
                                         "activation",
                                         "mlp_bias",
                                         "logits_cap",
                                         "sinks",
                                         "experts.router_bias",
                                         "experts.expert_bias",
                                         "swiglu_alpha",
                                         "swiglu_limit"};
  return std::ranges::find(kLater, field) != std::end(kLater);
}

struct AddField {
  Digest& digest;

  template <class Value>
  void operator()(const char* field, const Value& value) const {
    if (came_later(field)) {
      if (value == Value{}) return;
      for (const char* letter = field; *letter != 0; ++letter) add(*letter);
    }
    add(value);
  }

  template <class Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void add(Number number) const { digest.add(static_cast<std::uint64_t>(number)); }
  void add(float number) const { digest.add(std::bit_cast<std::uint32_t>(number)); }
  void add(double number) const { digest.add(std::bit_cast<std::uint64_t>(number)); }
  template <class Value>
  void add(const std::vector<Value>& list) const {
    add(list.size());
    for (const Value value : list) add(value);
  }
  void add(const std::string&) const {}  // the family
};

}  // namespace

std::uint64_t digest_of(const ModelConfig& config) {
  Digest digest;
  visit_fields(config, AddField{digest});
  return digest.value();
}

}  // namespace forge::model
