// Schedules in which blocks run out.
#include "scheduling.h"

namespace forge::labs {
namespace {

Json plans(const Json& input) { return plans_of(schedule_of(input)); }
Json trace(const Json& input) { return trace_of(schedule_of(input)); }

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"choose_victim", plans},
          {"make_room", plans},
          {"preempt", plans},
          {"swap_out", plans},
          {"trace", trace}};
}

}  // namespace forge::labs
