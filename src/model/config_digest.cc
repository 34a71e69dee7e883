#include "forge/model/config_digest.h"

#include <bit>
#include <concepts>
#include <type_traits>

#include "forge/core/digest.h"
#include "forge/model/config_fields.h"

namespace forge::model {
namespace {

struct AddField {
  Digest& digest;

  template <class Value>
  void operator()(const char*, const Value& value) const {
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
