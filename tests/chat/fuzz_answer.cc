// Any bytes as an answer, the first two of them its rules and its cuts: nothing is lost, and no cut
// matters.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chat/answer_pieces.h"
#include "forge/core/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forge;
  if (size < 2) return 0;
  const unsigned choice = data[0];
  const std::size_t step = data[1] % 16U + 1;
  const std::string_view answer(reinterpret_cast<const char*>(data) + 2, size - 2);
  const chat::AnswerRules rules{
      .form = {.calls = static_cast<chat::CallForm>(choice % kNames<chat::CallForm>.size()),
               .reasons = (choice & 64U) != 0},
      .tools = {"f", "get_weather"},
      .in_reasoning = (choice & 192U) == 192U};
  std::vector<std::string> cut;
  for (std::size_t at = 0; at < answer.size(); at += step)
    cut.emplace_back(answer.substr(at, step));
  const auto whole = chat::testing::parse_in_pieces(rules, {std::string(answer)});
  FORGE_CHECK(whole.all == answer, "a part of the answer is lost");
  FORGE_CHECK(chat::testing::parse_in_pieces(rules, cut) == whole, "a cut matters");
  return 0;
}
