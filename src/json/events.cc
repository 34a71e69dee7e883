#include "forge/json/events.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"

namespace forge::json {
namespace {

using Json = nlohmann::json;

/// nlohmann's thirteen events as the visitor's three, with a bound on depth.
class Events final : public nlohmann::json_sax<Json> {
 public:
  Events(std::string_view text, int depth_max, Visitor& visitor)
      : text_(text), depth_max_(depth_max), visitor_(visitor) {}

  bool null() override { return visitor_.value(nullptr); }
  bool boolean(bool value) override { return visitor_.value(value); }
  bool number_unsigned(Json::number_unsigned_t value) override {
    return visitor_.value(std::uint64_t{value});
  }
  bool number_integer(Json::number_integer_t value) override {
    return visitor_.value(std::int64_t{value});
  }
  bool number_float(Json::number_float_t value, const std::string& text) override {
    return visitor_.value(Fraction{value, text});
  }
  bool string(std::string& value) override { return visitor_.value(std::string_view(value)); }
  bool binary(Json::binary_t&) override { return false; }  // which a text cannot hold
  bool start_object(std::size_t) override { return enter(Object{}); }
  bool start_array(std::size_t) override { return enter(Array{}); }
  bool key(std::string& key) override { return visitor_.key(key); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  /// `position` is how many bytes have been read, the end of the text among them.
  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception& cause) override {
    constexpr int kNumberOverflow = 406;
    constexpr std::size_t kBytesShown = 24;
    visitor_.error().byte = position > 0 ? position - 1 : 0;
    if (cause.id == kNumberOverflow) {
      return fail("the number " + printable(token) +
                  " is out of range; accepted are those up to 1.797e+308 in size");
    }
    const std::string_view read = text_.substr(0, position);
    const std::size_t before = read.size() - std::min(read.size(), kBytesShown);
    return fail("is not JSON in or right after " + in_quotes(read.substr(before)));
  }

 private:
  bool fail(std::string message) {
    visitor_.error().message = std::move(message);
    return false;
  }
  bool enter(const Value& value) {
    if (++depth_ <= depth_max_) return visitor_.value(value);
    return fail("nests objects and arrays deeper than " + std::to_string(depth_max_));
  }
  bool leave() {
    --depth_;
    return visitor_.end();
  }

  std::string_view text_;
  int depth_max_;
  Visitor& visitor_;
  int depth_ = 0;
};

}  // namespace

std::string to_string(const ParseError& error) {
  return (error.byte ? "at byte " + std::to_string(*error.byte) + ": " : "") + error.message;
}

tl::expected<void, ParseError> visit(std::string_view text, int depth_max, Visitor& visitor) {
  // The parser takes a zero byte for the end of the text and never looks at what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return tl::unexpected(ParseError{"is not JSON: a zero byte", zero});
  }
  Events events(text, depth_max, visitor);
  if (Json::sax_parse(text.begin(), text.end(), &events)) return {};
  return tl::unexpected(std::move(visitor.error()));
}

}  // namespace forge::json
