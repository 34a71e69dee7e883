// UserInput: what a user has typed, from one line or from several.
//
//   How are you?             a text for the model
//   /save talk.json          a command, with a text beside it
//   """ ... """              a text for the model, of several lines, which may begin with a slash
//   /system """ ... """      a command with such a text
//
// Thread contract: values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::apps {

struct UserInput {
  std::string command;              ///< "/save"; empty: the text is for the model
  std::optional<std::string> text;  ///< without blanks around it, if it is of one line

  friend bool operator==(const UserInput&, const UserInput&) = default;
};

/// Puts lines together.
class UserInputParser {
 public:
  /// Returns what the line completes; nothing where a text goes on in the next line.
  std::optional<UserInput> take(std::string_view line);

  /// Whether a text goes on.
  bool goes_on() const { return begun_.has_value(); }
  /// Forgets a text that goes on.
  void drop() { begun_.reset(); }

 private:
  std::optional<UserInput> begun_;
};

}  // namespace forge::apps
