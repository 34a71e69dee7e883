// Dialogue: a conversation as a value. A system message, if there is one, comes first; then
// questions and answers take turns.
//
// Texts become valid UTF-8 as they come in, so that a dialogue can be rendered and saved. Thread
// contract: a value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace forge::apps {

class Dialogue {
 public:
  /// What the model is told before everything else; empty: nothing. The messages after it stay.
  void set_system(std::string_view text);
  const std::string& system() const { return system_; }

  /// Requires: no question waits for its answer.
  void ask(std::string_view question);
  /// Requires: a question waits.
  void answer(std::string_view text);
  /// As if the last question had not been asked. Requires: it waits for its answer.
  void take_back();

  /// Forgets questions and answers; the system message stays.
  void reset() { turns_.clear(); }

  /// Whether there is anything to save.
  bool empty() const { return system_.empty() && turns_.empty(); }

  /// [{"role": "user", "content": "Hello"}, ...], as chat templates, `forge-model render
  /// --messages` and the API take it.
  nlohmann::ordered_json messages() const;

  friend bool operator==(const Dialogue&, const Dialogue&) = default;

 private:
  bool waits() const { return turns_.size() % 2 == 1; }

  std::string system_;
  std::vector<std::string> turns_;  // questions at even places, answers at odd ones
};

/// Writes the messages as JSON into a file. Errors: the system's, with the path.
tl::expected<void, std::string> save(const Dialogue& dialogue, const std::string& path);

}  // namespace forge::apps
