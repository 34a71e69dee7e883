// What a client makes of the events of an answer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "forge/chat/answer_parser.h"

namespace forge::chat::testing {

struct Pieces {
  std::string content;
  std::string reasoning;
  std::vector<std::pair<std::string, std::string>> calls;  ///< tool, arguments
  std::string all;                                         ///< the texts of all events

  friend bool operator==(const Pieces&, const Pieces&) = default;
};

inline void add(Pieces& pieces, const AnswerEvent& event) {
  pieces.all += event.text;
  switch (event.kind) {
    case AnswerEvent::Kind::content:
      pieces.content += event.text;
      break;
    case AnswerEvent::Kind::reasoning:
      pieces.reasoning += event.text;
      break;
    case AnswerEvent::Kind::call:
      pieces.calls.emplace_back(event.tool, "");
      break;
    case AnswerEvent::Kind::arguments:
      pieces.calls.back().second += event.text;
      break;
    case AnswerEvent::Kind::mark:
      break;
  }
}

inline Pieces all_of(const std::vector<AnswerEvent>& events) {
  Pieces pieces;
  for (const AnswerEvent& event : events) add(pieces, event);
  return pieces;
}

inline Pieces parse_in_pieces(const AnswerRules& rules, const std::vector<std::string>& texts) {
  AnswerParser parser(rules);
  Pieces pieces;
  for (const std::string& text : texts) {
    for (const AnswerEvent& event : parser.push(text)) add(pieces, event);
  }
  for (const AnswerEvent& event : parser.finish()) add(pieces, event);
  return pieces;
}

}  // namespace forge::chat::testing
