#include "forge/json/parse.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "forge/core/quoted.h"

namespace forge::json {
namespace {

using Json = nlohmann::json;

Json leaf(std::nullptr_t) { return nullptr; }
Json leaf(bool value) { return value; }
Json leaf(std::uint64_t value) { return value; }
Json leaf(std::int64_t value) { return value; }
Json leaf(const Fraction& value) { return value.value; }
Json leaf(std::string_view value) { return value; }
Json leaf(Object) { return Json::object(); }
Json leaf(Array) { return Json::array(); }

/// Builds the tree from the events and stops them at the first key that is there twice.
class TreeBuilder final : public Visitor {
 public:
  Json& tree() { return tree_; }

  bool key(std::string_view key) override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [member, is_new] = members.try_emplace(std::string(key));
    if (!is_new) return fail("has the key " + in_quotes(key) + " twice");
    member_ = &member->second;
    return true;
  }

  bool value(const Value& value) override {
    Json& at = place();
    at = std::visit([](const auto& one) { return leaf(one); }, value);
    if (at.is_structured()) open_.push_back(&at);
    return true;
  }

  bool end() override {
    open_.pop_back();
    return true;
  }

 private:
  /// Where the next value belongs. Pointers into an array stay good: while one of its elements is
  /// open, it gets no others.
  Json& place() {
    if (open_.empty()) return tree_;
    if (!open_.back()->is_array()) return *member_;
    return open_.back()->get_ref<Json::array_t&>().emplace_back();
  }

  Json tree_;
  std::vector<Json*> open_;  // objects and arrays that have not ended, from the outermost
  Json* member_ = nullptr;   // of the innermost object: the value of its last key
};

}  // namespace

tl::expected<Json, ParseError> parse(std::string_view text, int depth_max) {
  TreeBuilder builder;
  if (auto read = visit(text, depth_max, builder); !read) return tl::unexpected(read.error());
  return std::move(builder.tree());
}

tl::expected<Json, ParseError> parse_object(std::string_view text, int depth_max) {
  auto tree = parse(text, depth_max);
  if (!tree || tree->is_object()) return tree;
  return tl::unexpected(ParseError{"is " + shown(*tree) + "; accepted is an object", {}});
}

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return printable(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string shown(const Value& value) {
  if (std::holds_alternative<Array>(value)) return "a list";
  if (const auto* const fraction = std::get_if<Fraction>(&value)) return printable(fraction->text);
  return shown(std::visit([](const auto& one) { return leaf(one); }, value));
}

}  // namespace forge::json
