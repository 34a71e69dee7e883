// Document: a text of the small made-up world that the built-in model was trained on.
//
//   plain   Ada is at the mill. Ben is at the inn. Here is the key, which is red. The key is given
//           to Ada. Ada goes to the barn. Where is the key? The key is now with Ada. Ada is at the
//           barn.
//   chat    <|im_start|>user
//           What is 34+52?<|im_end|>
//           <|im_start|>assistant
//           86<|im_end|>
//
// Whoever knows the world knows the answer of each question, so a model can be asked for right
// answers, not for likely ones. A document is one plain exercise, a plain story with a question, or
// a chat, as the default chat template spells it (chat/chat_template.h): up to three exercises, or
// up to four questions about a story that goes on between them.
//
// A document is a pure function of its seed, by integer arithmetic (choices.h). It shows each
// choice that it was made from, so nats(document.choices) is the least loss that a model can have
// on it in the long run, the end of the text included. scripts/train/corpus.py writes the same
// documents for the trainer, which keeps to seeds below kUnseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forge/core/names.h"
#include "forge/corpus/choices.h"

namespace forge::corpus {

/// Seeds from here on are of documents that no model was trained on.
inline constexpr std::uint64_t kUnseen = std::uint64_t{1} << 63;

/// What is asked.
enum class Kind {
  place,     ///< "Where is Ada?"                one hop: the last that was said of Ada
  thing,     ///< "Where is the key?"            two: who has the key, and where is Ada?
  which,     ///< "Which color is the key?"      one
  holder,    ///< "Who has the key?"             one
  sum,       ///< "What is 34+52?"               up to 99, also differences
  sort,      ///< "Sort 7 3 9."                  3 to 5 digits
  json,      ///< "As JSON: name Ada, age 42."   an object of 2 or 3 members
  glossary,  ///< "What is a slice?"             glossary.h
};

constexpr Names<Kind> names_of(Kind) {
  return {"place", "thing", "which", "holder", "sum", "sort", "json", "glossary"};
}

/// Where an answer is in the text: what a model is to write after text[0 .. begin).
struct Answer {
  Kind kind;
  std::size_t begin;  ///< in bytes
  std::size_t end;

  std::string_view prompt(std::string_view text) const { return text.substr(0, begin); }
  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

struct Document {
  std::string text;             ///< ASCII; ends where the model is to end it
  std::vector<Answer> answers;  ///< at least one, in order
  std::vector<Choice> choices;  ///< all, in the order in which they were made
};

Document document(std::uint64_t seed);

}  // namespace forge::corpus
