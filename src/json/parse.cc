#include "forge/json/parse.h"

#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "forge/core/quoted.h"

namespace forge::json {
namespace {

template <class Json>
struct Leaf {
  Json operator()(std::nullptr_t) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(std::uint64_t value) const { return value; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(const Fraction& value) const { return value.value; }
  Json operator()(std::string_view value) const { return value; }
  Json operator()(Object) const { return Json::object(); }
  Json operator()(Array) const { return Json::array(); }
};

/// Builds the tree from the events and stops them at the first key that is there twice.
template <class Json>
class TreeBuilder final : public Visitor {
 public:
  Json& tree() { return tree_; }

  bool key(std::string_view key) override {
    auto& members = open_.back()->template get_ref<typename Json::object_t&>();
    if (!is_new(members, key)) return fail("has the key " + in_quotes(key) + " twice");
    if constexpr (std::is_same_v<Json, nlohmann::json>) {
      member_ = &members.try_emplace(std::string(key)).first->second;
    } else {
      members.push_back({std::string(key), Json()});
      member_ = &members.back().second;
    }
    return true;
  }

  bool value(const Value& value) override {
    Json& at = place();
    at = std::visit(Leaf<Json>(), value);
    if (at.is_structured()) open_.push_back(&at);
    if (kInOrder && at.is_object()) keys_.emplace_back();
    return true;
  }

  bool end() override {
    if (kInOrder && open_.back()->is_object()) keys_.pop_back();
    open_.pop_back();
    return true;
  }

 private:
  /// An object in order is a list, which is not searched for each of its keys.
  static constexpr bool kInOrder = !std::is_same_v<Json, nlohmann::json>;

  template <class Members>
  bool is_new(const Members& members, std::string_view key) {
    if constexpr (kInOrder) {
      return keys_.back().emplace(key).second;
    } else {
      return !members.contains(key);
    }
  }

  /// Where the next value belongs. Pointers into an array stay good: while one of its elements is
  /// open, it gets no others.
  Json& place() {
    if (open_.empty()) return tree_;
    if (!open_.back()->is_array()) return *member_;
    return open_.back()->template get_ref<typename Json::array_t&>().emplace_back();
  }

  Json tree_;
  std::vector<Json*> open_;  // objects and arrays that have not ended, from the outermost
  Json* member_ = nullptr;   // of the innermost object: the value of its last key
  std::vector<std::set<std::string, std::less<>>> keys_;  // of each open object in order
};

template <class Json>
tl::expected<Json, ParseError> parse_as(std::string_view text, int depth_max) {
  TreeBuilder<Json> builder;
  if (auto read = visit(text, depth_max, builder); !read) return tl::unexpected(read.error());
  return std::move(builder.tree());
}

}  // namespace

tl::expected<nlohmann::json, ParseError> parse(std::string_view text, int depth_max) {
  return parse_as<nlohmann::json>(text, depth_max);
}

tl::expected<nlohmann::ordered_json, ParseError> parse_ordered(std::string_view text,
                                                               int depth_max) {
  return parse_as<nlohmann::ordered_json>(text, depth_max);
}

tl::expected<nlohmann::json, ParseError> parse_object(std::string_view text, int depth_max) {
  auto tree = parse(text, depth_max);
  if (!tree || tree->is_object()) return tree;
  return tl::unexpected(ParseError{"is " + shown(*tree) + "; accepted is an object", {}});
}

std::string shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return printable(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

std::string shown(const Value& value) {
  if (std::holds_alternative<Array>(value)) return "a list";
  if (const auto* const fraction = std::get_if<Fraction>(&value)) return printable(fraction->text);
  return shown(std::visit(Leaf<nlohmann::json>(), value));
}

}  // namespace forge::json
