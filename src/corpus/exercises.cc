#include "exercises.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "forge/corpus/glossary.h"
#include "words.h"

namespace forge::corpus {
namespace {

std::string joined(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

/// The value of a field, without the quotes that JSON puts around a text.
std::string value_of(std::string_view field, Choices& choices) {
  if (field == "age") return std::to_string(10 + choices.below(90));
  if (field == "open") return choices.below(2) == 0 ? "true" : "false";
  const std::span<const std::string_view> words =
      field == "name"    ? std::span<const std::string_view>(kNames)
      : field == "place" ? std::span<const std::string_view>(kPlaces)
      : field == "thing" ? std::span<const std::string_view>(kThings)
                         : std::span<const std::string_view>(kColors);
  return std::string(any_of(choices, words));
}

}  // namespace

Exercise sum_exercise(Choices& choices) {
  const bool is_sum = choices.below(2) == 0;
  const std::uint32_t a = choices.below(100);
  const std::uint32_t b = choices.below(is_sum ? 100 - a : a + 1);
  return {Kind::sum,
          "What is " + std::to_string(a) + (is_sum ? "+" : "-") + std::to_string(b) + "?",
          std::to_string(is_sum ? a + b : a - b)};
}

Exercise sort_exercise(Choices& choices) {
  std::vector<std::string_view> digits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  std::vector<std::string> chosen(3 + choices.below(3));
  for (std::string& digit : chosen) digit = choices.take(digits);
  std::string question = "Sort " + joined(chosen, " ") + ".";
  std::sort(chosen.begin(), chosen.end());
  return {Kind::sort, std::move(question), joined(chosen, " ")};
}

Exercise json_exercise(Choices& choices) {
  std::vector<std::string_view> fields = {"name", "place", "thing", "color", "age", "open"};
  std::vector<std::string> said(2 + choices.below(2));
  std::vector<std::string> written;
  for (std::string& part : said) {
    const std::string field(choices.take(fields));
    const std::string value = value_of(field, choices);
    const std::string quote = field == "age" || field == "open" ? "" : "\"";
    part.append(field).append(" ").append(value);
    written.emplace_back("\"").append(field).append("\": ").append(quote).append(value).append(
        quote);
  }
  return {Kind::json, "As JSON: " + joined(said, ", ") + ".", "{" + joined(written, ", ") + "}"};
}

Exercise glossary_exercise(Choices& choices) {
  const GlossaryEntry& entry = any_of(choices, glossary());
  return {Kind::glossary, std::string(entry.question), std::string(entry.answer)};
}

}  // namespace forge::corpus
