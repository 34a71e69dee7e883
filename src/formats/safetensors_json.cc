#include "safetensors_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "shown.h"

namespace forge::formats::detail {
namespace {

using nlohmann::json;

/// nlohmann's thirteen events as the visitor's three, with a bound on depth.
class Events final : public nlohmann::json_sax<json> {
 public:
  Events(std::string_view text, JsonVisitor& visitor) : text_(text), visitor_(visitor) {}

  bool null() override { return visitor_.value(nullptr); }
  bool boolean(bool value) override { return visitor_.value(value); }
  bool number_unsigned(json::number_unsigned_t value) override {
    return visitor_.value(std::uint64_t{value});
  }
  bool number_integer(json::number_integer_t value) override {
    return visitor_.value(JsonOtherNumber{std::to_string(value)});
  }
  bool number_float(json::number_float_t, const std::string& text) override {
    return visitor_.value(JsonOtherNumber{text});
  }
  bool string(std::string& value) override { return visitor_.value(std::string_view(value)); }
  bool binary(json::binary_t&) override { return false; }  // which a text cannot hold
  bool start_object(std::size_t) override { return enter() && visitor_.value(JsonObject{}); }
  bool start_array(std::size_t) override { return enter() && visitor_.value(JsonArray{}); }
  bool key(std::string& key) override { return visitor_.key(key); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  /// `position` is how many bytes have been read, the end of the text among them.
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    constexpr std::size_t kBytesShown = 24;
    const std::string_view read = text_.substr(0, position);
    const std::size_t before = read.size() - std::min(read.size(), kBytesShown);
    JsonFault& fault = visitor_.fault();
    fault.message = "not JSON in or right after " + detail::shown(read.substr(before));
    fault.byte = position > 0 ? position - 1 : 0;
    return false;
  }

 private:
  bool enter() {
    if (++depth_ <= kJsonDepthMax) return true;
    visitor_.fault().message = "nested deeper than " + std::to_string(kJsonDepthMax);
    return false;
  }
  bool leave() {
    --depth_;
    return visitor_.end();
  }

  std::string_view text_;
  JsonVisitor& visitor_;
  int depth_ = 0;
};

struct Shown {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(const JsonOtherNumber& value) const { return printable(value.text); }
  std::string operator()(std::string_view value) const { return shown(value); }
  std::string operator()(JsonObject) const { return "an object"; }
  std::string operator()(JsonArray) const { return "an array"; }
};

}  // namespace

std::string shown_json(const JsonValue& value) { return std::visit(Shown{}, value); }

bool JsonVisitor::fail(std::string message, std::string_view name) {
  fault_.message = std::move(message);
  fault_.name = name;
  return false;
}

tl::expected<void, JsonFault> read_json(std::string_view text, JsonVisitor& visitor) {
  // The parser takes a zero byte for the end of the text and never looks at what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return tl::unexpected(JsonFault{.message = "not JSON: a zero byte", .byte = zero});
  }
  Events events(text, visitor);
  if (json::sax_parse(text.begin(), text.end(), &events)) return {};
  return tl::unexpected(std::move(visitor.fault()));
}

}  // namespace forge::formats::detail
