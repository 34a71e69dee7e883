// Methods of str that find, cut and ask.
#include <algorithm>

#include "methods.h"
#include "text_ranges.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

/// The part of `text` between the arguments `start` and `stop`, where it begins in code points, and
/// whether there is such a part at all.
struct Part {
  std::string_view bytes;
  std::int64_t start = 0;
  bool exists = true;
};
Part part_of(Interpreter& interpreter, const Value& text, const Given& given) {
  const auto length = static_cast<std::int64_t>(text.string().characters);
  const auto bound = [&](std::size_t place, std::int64_t fallback) {
    const Value* const value = given.some(place);
    std::int64_t at = value == nullptr ? fallback : integer_of(*value);
    if (at < 0) at = std::max<std::int64_t>(at + length, 0);
    return at;
  };
  Part part;
  part.start = bound(1, 0);
  const std::int64_t stop = std::min(bound(2, length), length);
  part.exists = part.start <= stop;
  if (part.exists) {
    part.bytes = characters(interpreter.budget(), text.string(), part.start, stop);
  }
  return part;
}

std::int64_t found_at(Interpreter& interpreter, const Value& self, Arguments& arguments,
                      bool from_right) {
  const Given given(arguments, {"sub", "start", "end"}, 1);
  const std::string_view wanted = text_argument(given.required(0));
  const Part part = part_of(interpreter, self, given);
  if (!part.exists) return -1;
  const std::size_t at = from_right ? part.bytes.rfind(wanted) : part.bytes.find(wanted);
  if (at == std::string_view::npos) return -1;
  return part.start + static_cast<std::int64_t>(count_characters(part.bytes.substr(0, at)));
}

template <bool kFromRight>
Value find(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return Value(found_at(interpreter, self, arguments, kFromRight));
}

template <bool kFromRight>
Value index(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const std::int64_t at = found_at(interpreter, self, arguments, kFromRight);
  if (at < 0) raise(Exception::value, "substring not found");
  return Value(at);
}

Value count(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"sub", "start", "end"}, 1);
  const std::string_view wanted = text_argument(given.required(0));
  const Part part = part_of(interpreter, self, given);
  if (!part.exists) return Value(std::int64_t{0});
  if (wanted.empty()) {
    return Value(static_cast<std::int64_t>(count_characters(part.bytes)) + 1);
  }
  std::int64_t times = 0;
  for (std::size_t at = part.bytes.find(wanted); at != std::string_view::npos;
       at = part.bytes.find(wanted, at + wanted.size())) {
    ++times;
  }
  return Value(times);
}

template <bool kAtEnd>
Value begins_or_ends(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"prefix", "start", "end"}, 1);
  const Part part = part_of(interpreter, self, given);
  const auto holds = [&](const Value& wanted) {
    if (!wanted.is_string()) {
      raise_type(std::string(kAtEnd ? "endswith" : "startswith") +
                 " first arg must be str or a tuple of str, not " + type_name(wanted));
    }
    return kAtEnd ? part.bytes.ends_with(wanted.text()) : part.bytes.starts_with(wanted.text());
  };
  const Value& wanted = given.required(0);
  if (!wanted.is(Kind::tuple)) return Value(holds(wanted) && part.exists);
  const auto& all = wanted.sequence().elements;
  return Value(std::any_of(all.begin(), all.end(), holds) && part.exists);
}

template <bool kFromRight>
Value partition(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"sep"}, 1);
  const std::string_view text = self.text();
  const std::string_view separator = text_argument(given.required(0));
  if (separator.empty()) raise(Exception::value, "empty separator");
  const std::size_t at = kFromRight ? text.rfind(separator) : text.find(separator);
  std::vector<std::string> parts = {std::string(text), "", ""};
  if (at != std::string_view::npos) {
    parts = {std::string(text.substr(0, at)), std::string(separator),
             std::string(text.substr(at + separator.size()))};
  } else if (kFromRight) {
    std::swap(parts[0], parts[2]);
  }
  std::vector<Value> values;
  values.reserve(parts.size());
  for (std::string& part : parts) {
    values.push_back(interpreter.text(std::move(part), self.string().markup));
  }
  return make_tuple(interpreter.budget(), std::move(values));
}

template <bool kFromRight>
Value split(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"sep", "maxsplit"});
  const std::int64_t most = given.integer(1, -1);
  return kFromRight ? split_text_from_right(interpreter, self, given.some(0), most)
                    : split_text(interpreter, self, given.some(0), most);
}

Value split_into_lines(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"keepends"});
  std::vector<Value> lines;
  for (const std::string_view line : split_lines(self.text(), given.boolean(0, false))) {
    lines.push_back(interpreter.text(std::string(line), self.string().markup));
  }
  return interpreter.list(std::move(lines));
}

/// Whether there is a character and all are of a kind.
template <bool (*kIs)(std::uint32_t)>
Value all_are(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  std::string_view rest = self.text();
  bool holds = !rest.empty();
  while (holds && !rest.empty()) {
    const Character character = first_character(rest);
    holds = kIs(character.code);
    rest.remove_prefix(character.bytes);
  }
  return Value(holds);
}

bool is_alnum(std::uint32_t code) { return is_alpha(code) || is_numeric(code); }

/// Whether a cased character is there, and all such are of one case.
template <bool kUpper>
Value has_case(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  return Value(is_in_case(self.text(), kUpper));
}

Value is_title(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  bool any = false;
  bool in_word = false;
  for (std::string_view rest = self.text(); !rest.empty();) {
    const Character character = first_character(rest);
    rest.remove_prefix(character.bytes);
    const bool lower = is_lower(character.code);
    const bool cased = is_cased(character.code);
    if (cased && lower != in_word) return Value(false);
    any = any || cased;
    in_word = cased;
  }
  return Value(any);
}

Value is_ascii(Interpreter& /*interpreter*/, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  return Value(self.string().is_ascii());
}

Value is_all_printable(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  if (self.text().empty()) return Value(true);
  return all_are<is_printable>(interpreter, self, arguments);
}

Value is_identifier(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const std::string_view text = self.text();
  if (!text.empty() && is_numeric(first_character(text).code)) return Value(false);
  return all_are<is_name_character>(interpreter, self, arguments);
}

constexpr NamedMethod kSearchMethods[] = {
    {"count", count},
    {"endswith", begins_or_ends<true>},
    {"find", find<false>},
    {"index", index<false>},
    {"isalnum", all_are<is_alnum>},
    {"isalpha", all_are<is_alpha>},
    {"isascii", is_ascii},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"isidentifier", is_identifier},
    {"islower", has_case<false>},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", is_all_printable},
    {"isspace", all_are<is_space>},
    {"istitle", is_title},
    {"isupper", has_case<true>},
    {"partition", partition<false>},
    {"rfind", find<true>},
    {"rindex", index<true>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"split", split<false>},
    {"splitlines", split_into_lines},
    {"startswith", begins_or_ends<false>},
};

}  // namespace

const std::span<const NamedMethod> kTextSearchMethods = kSearchMethods;

}  // namespace forge::chat::detail
