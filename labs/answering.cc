#include "answering.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "todo.h"

namespace forge::labs {
namespace {

/// Answers go where standard output went when the program began.
std::FILE* answers = nullptr;

void write_line(const Json& line) {
  std::fputs((line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n').c_str(), answers);
  std::fflush(answers);
}

int answer_all() {
  answers = fdopen(dup(STDOUT_FILENO), "w");
  if (answers == nullptr || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  const std::map<std::string, Answer> known = tasks();
  std::string line;
  while (std::getline(std::cin, line)) {
    const Json question = Json::parse(line);
    const Answer& answer = known.at(question.at("task").get<std::string>());
    write_line({{"answer", answer(question.at("case"))}});
  }
  return 0;
}

}  // namespace

void todo(const char* task) {
  write_line({{"not_begun", task}});
  std::_Exit(3);
}

}  // namespace forge::labs

int main() { return forge::labs::answer_all(); }
