#include "user_input.h"

#include <utility>

namespace forge::apps {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// "/save" of "/save talk.json"; empty where the line begins without a slash.
std::string_view command_of(std::string_view line) {
  return line.starts_with('/') ? line.substr(0, line.find_first_of(kBlanks)) : line.substr(0, 0);
}

}  // namespace

std::optional<UserInput> UserInputParser::take(std::string_view line) {
  const std::string_view whole = without_blanks(line);
  if (!begun_) {
    const std::string_view command = command_of(whole);
    const std::string_view text = without_blanks(whole.substr(command.size()));
    UserInput input{std::string(command), std::nullopt};
    if (!text.starts_with(kQuotes)) {
      if (!text.empty()) input.text = text;
      return input;
    }
    begun_ = std::move(input);
    line = text.substr(kQuotes.size());
    if (line.empty()) return std::nullopt;  // the text begins in the next line
  }
  const std::string_view end = without_blanks(line);
  const bool ends = end.ends_with(kQuotes);
  if (ends) line = line.substr(0, line.rfind(kQuotes));
  std::optional<std::string>& text = begun_->text;
  if (!text) {
    text = line;
  } else if (!ends || !line.empty()) {
    *text += '\n';
    *text += line;
  }
  if (!ends) return std::nullopt;
  return std::exchange(begun_, std::nullopt);
}

}  // namespace forge::apps
