// Exercises: a question and its answer, without a story.
#pragma once

#include <string>

#include "forge/corpus/choices.h"
#include "forge/corpus/document.h"

namespace forge::corpus {

struct Exercise {
  Kind kind;
  std::string question;
  std::string answer;
};

Exercise sum_exercise(Choices& choices);
Exercise sort_exercise(Choices& choices);
Exercise json_exercise(Choices& choices);
Exercise glossary_exercise(Choices& choices);

}  // namespace forge::corpus
