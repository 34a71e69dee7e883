// The words of serving as questions and answers, and greetings: what the built-in model knows by
// heart. book/glossary.md has the words at length.
//
// The list is one file, which the trainer of the model reads too.
#pragma once

#include <span>
#include <string_view>

namespace forge::corpus {

struct GlossaryEntry {
  std::string_view question;
  std::string_view answer;
};

std::span<const GlossaryEntry> glossary();

}  // namespace forge::corpus
