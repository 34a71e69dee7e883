// Methods of str that make another text of it.
#include <algorithm>

#include "filters.h"
#include "format.h"
#include "methods.h"
#include "unicode.h"

namespace forge::chat::detail {
namespace {

using Change = std::string (*)(std::string_view);

template <Change kChange>
Value changed_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {});
  return interpreter.text(kChange(self.text()), self.string().markup);
}

template <bool kLeft, bool kRight>
Value strip(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"chars"});
  return interpreter.text(
      std::string(stripped(interpreter.budget(), self.text(), given.some(0), kLeft, kRight)),
      self.string().markup);
}

Value replace_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"old", "new", "count"}, 2);
  const std::string_view old = text_argument(given.required(0));
  Value now = given.required(1);
  if (self.string().markup) now = escaped(interpreter, now);
  return interpreter.text(
      replaced(interpreter.budget(), self.text(), old, text_argument(now), given.integer(2, -1)),
      self.string().markup);
}

Value join(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"iterable"}, 1);
  const bool markup = self.string().markup;
  std::vector<std::string> parts;
  for (const Value& value : collect(interpreter.budget(), given.required(0))) {
    if (markup) {
      parts.emplace_back(escaped(interpreter, value).text());
      continue;
    }
    if (!value.is_string()) {
      raise_type("sequence item " + std::to_string(parts.size()) + ": expected str instance, " +
                 type_name(value) + " found");
    }
    interpreter.budget().make(value.text().size());
    parts.emplace_back(value.text());
  }
  return join_texts(interpreter, self.text(), parts, markup);
}

template <char kAlign>
Value pad(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"width", "fillchar"}, 1);
  Padding padding;
  padding.width = given.integer(0, 0);
  padding.fill = std::string(given.text(1, " "));
  padding.align = kAlign;
  if (count_characters(padding.fill) != 1) {
    raise_type("The fill character must be exactly one character long");
  }
  const auto length = static_cast<std::int64_t>(self.string().characters);
  const std::int64_t missing = padding.width - length;
  if (kAlign == '^' && missing > 0) {
    // Where the fill cannot be halved, str.center() gives the larger half to one side or the other.
    const std::int64_t left = missing / 2 + (missing & padding.width & 1);
    padding.align = '>';
    padding.width = length + left;
    std::string text = padded(interpreter.budget(), std::string(self.text()), padding);
    padding.align = '<';
    padding.width = length + missing;
    return interpreter.text(padded(interpreter.budget(), std::move(text), padding),
                            self.string().markup);
  }
  return interpreter.text(padded(interpreter.budget(), std::string(self.text()), padding),
                          self.string().markup);
}

Value zero_fill(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"width"}, 1);
  const Padding padding{"0", '=', given.integer(0, 0)};
  const std::string_view text = self.text();
  // Unlike '=' of formats, a space is no sign.
  if (text.starts_with(' ')) {
    const Padding right{"0", '>', padding.width};
    return interpreter.text(padded(interpreter.budget(), std::string(text), right));
  }
  return interpreter.text(padded(interpreter.budget(), std::string(text), padding),
                          self.string().markup);
}

Value remove_prefix(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"prefix"}, 1);
  std::string_view text = self.text();
  const std::string_view prefix = text_argument(given.required(0));
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return interpreter.text(std::string(text), self.string().markup);
}

Value remove_suffix(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"suffix"}, 1);
  std::string_view text = self.text();
  const std::string_view suffix = text_argument(given.required(0));
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return interpreter.text(std::string(text), self.string().markup);
}

Value expand_tabs(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"tabsize"});
  const std::int64_t size = given.integer(0, 8);
  std::string out;
  std::int64_t column = 0;
  for (std::string_view rest = self.text(); !rest.empty();) {
    const Character character = first_character(rest);
    if (character.code == '\t') {
      const std::int64_t spaces = size > 0 ? size - column % size : 0;
      interpreter.budget().make(static_cast<std::uint64_t>(spaces));
      out.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
    } else {
      out += rest.substr(0, character.bytes);
      column = character.code == '\n' || character.code == '\r' ? 0 : column + 1;
    }
    rest.remove_prefix(character.bytes);
  }
  return interpreter.text(std::move(out), self.string().markup);
}

Value format_text(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return brace_format(interpreter, self, arguments);
}

Value format_map(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Given given(arguments, {"mapping"}, 1);
  Arguments named;
  if (!given.required(0).is(Kind::dict)) raise_type("format_map() argument must be a mapping");
  for (const auto& [key, value] : given.required(0).dict().members) {
    if (key.is_string()) named.named.emplace_back(key.text(), value);
  }
  return brace_format(interpreter, self, named);
}

constexpr NamedMethod kChangeMethods[] = {
    {"capitalize", changed_text<capitalized>},
    {"casefold", changed_text<case_folded>},
    {"center", pad<'^'>},
    {"expandtabs", expand_tabs},
    {"format", format_text},
    {"format_map", format_map},
    {"join", join},
    {"ljust", pad<'<'>},
    {"lower", changed_text<lower>},
    {"lstrip", strip<true, false>},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"replace", replace_text},
    {"rjust", pad<'>'>},
    {"rstrip", strip<false, true>},
    {"strip", strip<true, true>},
    {"swapcase", changed_text<swap_case>},
    {"title", changed_text<title>},
    {"upper", changed_text<upper>},
    {"zfill", zero_fill},
};

}  // namespace

const std::span<const NamedMethod> kTextChangeMethods = kChangeMethods;

}  // namespace forge::chat::detail
