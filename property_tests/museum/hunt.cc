// hunt EXHIBIT TRACE: looks for the bug of an exhibit, compiled in, where it must be found, and
// says by what. hunt: the same search of the scheduler as it is finds nothing.
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "exploration/instances.h"
#include "exploration/shrink.h"

namespace forge::testing {
namespace {

/// The lines `key: value` at the head of an exhibit.
std::map<std::string, std::string> head_of(const char* exhibit) {
  std::map<std::string, std::string> head;
  std::ifstream in(exhibit);
  std::string line;
  while (std::getline(in, line) && !line.empty()) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) head[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return head;
}

struct Catch {
  Instance instance;
  Violation violation;
};

std::optional<Catch> hunt() {
  for (const Instance& instance : small_instances()) {
    const Exploration found = explore(instance);
    std::printf("searched %llu states: %s\n", static_cast<unsigned long long>(found.states),
                instance.name.c_str());
    if (found.violation) return Catch{instance, shrink(instance, *found.violation)};
  }
  return std::nullopt;
}

void print(const Violation& violation) {
  std::printf("caught by \"%s\" after %zu events\n  %s\n", violation.promise().c_str(),
              violation.events.size(), violation.text.c_str());
  for (const Event& event : violation.events) std::printf("    %s\n", to_string(event).c_str());
}

int visit(const char* exhibit, const char* trace) {
  std::map<std::string, std::string> head = head_of(exhibit);
  std::printf("%s (%s)\n", head["title"].c_str(), head["reported"].c_str());
  const auto caught = hunt();
  if (!caught) {
    std::printf("not found, though it is there\n");
    return 1;
  }
  print(caught->violation);
  std::ofstream out(trace);
  write_trace(caught->instance, caught->violation.events, out);
  std::printf("forge-trace show %s draws it\n", trace);
  if (caught->violation.promise() == head["caught by"]) return 0;
  std::printf("the exhibit says \"%s\"\n", head["caught by"].c_str());
  return 1;
}

}  // namespace
}  // namespace forge::testing

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s EXHIBIT TRACE\n", argv[0]);
    return 2;
  }
  return forge::testing::visit(argv[1], argv[2]);
}
