#include "forge/corpus/document.h"

#include <array>
#include <optional>
#include <utility>

#include "exercises.h"
#include "story.h"

namespace forge::corpus {
namespace {

constexpr std::array kExercises = {sum_exercise, sort_exercise, json_exercise, glossary_exercise};
constexpr std::array<std::uint32_t, 4> kForms = {12, 8, 7, 3};  // the switch of document()
constexpr std::array<std::uint32_t, 4> kPlainWeights = {7, 1, 2, 2};
constexpr std::array<std::uint32_t, 4> kChatWeights = {3, 1, 2, 2};
constexpr std::array<std::uint32_t, 3> kTurnWeights = {2, 2, 1};  // of one turn, two, three

void write_answer(Document& document, const Exercise& exercise) {
  const std::size_t begin = document.text.size();
  document.text += exercise.answer;
  document.answers.push_back({exercise.kind, begin, document.text.size()});
}

void write_plain(Document& document, const std::string& told, const Exercise& exercise) {
  document.text += told + exercise.question + " ";
  write_answer(document, exercise);
}

void write_plain_story(Document& document, Choices& choices) {
  Story story(choices);
  std::string told = story.begin();
  told += story.events(4);
  write_plain(document, told, story.question());
}

void write_turn(Document& document, const std::string& told, const Exercise& exercise) {
  document.text += "<|im_start|>user\n" + told + exercise.question + "<|im_end|>\n";
  document.text += "<|im_start|>assistant\n";
  write_answer(document, exercise);
  document.text += "<|im_end|>\n";
}

void write_system(Document& document, Choices& choices) {
  if (choices.weighted(std::array<std::uint32_t, 2>{7, 1}) == 0) return;
  document.text += "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n";
}

void write_story_chat(Document& document, Choices& choices) {
  Story story(choices);
  const std::uint32_t turns = 1 + choices.below(4);
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    std::string told = turn == 0 ? story.begin() : "";
    told += story.events(turn == 0 ? 3 : 1);
    write_turn(document, told, story.question());
  }
}

void write_exercise_chat(Document& document, Choices& choices) {
  const std::size_t turns = 1 + choices.weighted(kTurnWeights);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    write_turn(document, "", kExercises[choices.weighted(kChatWeights)](choices));
  }
}

}  // namespace

Document document(std::uint64_t seed) {
  Document document;
  Choices choices(seed);
  switch (choices.weighted(kForms)) {
    case 0:
      write_plain(document, "", kExercises[choices.weighted(kPlainWeights)](choices));
      break;
    case 1:
      write_plain_story(document, choices);
      break;
    case 2:
      write_system(document, choices);
      write_story_chat(document, choices);
      break;
    default:
      write_system(document, choices);
      write_exercise_chat(document, choices);
  }
  document.choices.assign(choices.made().begin(), choices.made().end());
  return document;
}

}  // namespace forge::corpus
