#include <string_view>

#include "blanks.h"
#include "forge/chat/chat_format.h"

namespace forge::chat {
namespace {

constexpr std::string_view kQuestion = "the-question";
constexpr std::string_view kAnswer = "the-answer";
constexpr std::string_view kNext = "the-next-question";

/// A template that needs more for three messages is none of a model.
constexpr RenderLimits kLimits{
    .output_bytes = 1U << 20U, .made_bytes = 16U << 20U, .steps = 1'000'000};

/// Any will do that is the same each time.
std::tm some_day() {
  std::tm day{};
  day.tm_mday = 1;
  day.tm_year = 100;
  return day;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string rendered(const ChatFormat& format, bool goes_on) {
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", kQuestion}},
                           {{"role", "assistant"}, {"content", kAnswer}}};
  if (goes_on) conversation.messages.push_back({{"role", "user"}, {"content", kNext}});
  conversation.add_generation_prompt = false;
  conversation.bos_token = format.bos_token;
  conversation.eos_token = format.eos_token;
  return format.chat_template.render(conversation, {kLimits, some_day()}).value_or("");
}

/// What stands behind the answer, up to the next question if there is one.
std::string_view behind_answer(std::string_view text) {
  const std::size_t answer = text.find(kAnswer);
  if (answer == std::string_view::npos) return {};
  text.remove_prefix(answer + kAnswer.size());
  return text.substr(0, text.find(kNext));
}

}  // namespace

std::string answer_end(const ChatFormat& format) {
  const std::string last = rendered(format, false);
  if (const auto end = without_blanks(behind_answer(last)); !end.empty()) return std::string(end);
  const std::string further = rendered(format, true);
  const std::string_view between = behind_answer(further);
  // A line that begins is part of the mark: without it, "USER:" within an answer would end it.
  const std::size_t last_sign = between.find_last_not_of(kBlanks);
  return std::string(between.substr(0, last_sign == std::string_view::npos ? 0 : last_sign + 1));
}

}  // namespace forge::chat
