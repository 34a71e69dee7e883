#include "context.h"

#include <nlohmann/json.hpp>

#include "unicode.h"

namespace forge::chat::detail {
namespace {

using Json = nlohmann::ordered_json;

Value text_value(Budget& budget, const std::string& text) {
  if (first_ill_formed(text) != std::string_view::npos) {
    raise(Exception::value, "a text of the context is not UTF-8");
  }
  return make_string(budget, text);
}

Value value_at(Budget& budget, const Json& json, int depth) {
  depth = one_deeper(depth);
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > INT64_MAX) {
        raise(Exception::limit, "an integer needs more than 64 bits, which is not supported");
      }
      return Value(json.get<std::int64_t>());
    case Json::value_t::number_float:
      return Value(json.get<double>());
    case Json::value_t::string:
      return text_value(budget, json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::vector<Value> elements;
      elements.reserve(json.size());
      for (const Json& element : json) elements.push_back(value_at(budget, element, depth));
      return make_list(budget, std::move(elements));
    }
    case Json::value_t::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, member] : json.items()) {
        dict->set(budget, text_value(budget, key), value_at(budget, member, depth));
      }
      return make_dict(budget, std::move(dict));
    }
    default:
      return {};
  }
}

}  // namespace

Value value_of(Budget& budget, const Json& json) { return value_at(budget, json, 0); }

}  // namespace forge::chat::detail
