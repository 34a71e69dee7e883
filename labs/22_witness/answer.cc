// Runs of schedulers, and what each witness says of them.
#include "forge/core/notation.h"
#include "playing.h"
#include "spoiling.h"
#include "witness.h"

namespace forge::labs {
namespace {

using witness::Run;
using Witness = std::optional<std::size_t> (*)(const Run&);

/// A case, or {"run": [a case]}, which is one that was recorded -> the plans, a row each, and which
/// of them the witness says is broken.
Json watched(Witness witness, const Json& asked) {
  const Json& input = asked.contains("run") ? asked.at("run").at(0) : asked;
  Run run = witness::run_of(input);
  witness::spoil(run, input.value("spoil", Json::object()));
  Json answer = Json::array();
  for (const witness::Step& step : run.steps) answer.push_back(plan_row(step.plan));
  const auto broken = witness(run);
  if (!broken) {
    answer.push_back("nothing is broken");
  } else if (*broken >= run.steps.size()) {
    answer.push_back("broken in step " + std::to_string(*broken) + ", which there is not");
  } else {
    answer.push_back("broken in step " + plan_row(run.steps[*broken].plan));
  }
  return answer;
}

Answer of(Witness witness) {
  return [witness](const Json& input) { return watched(witness, input); };
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"slices", of(witness::slices)},     {"tables", of(witness::tables)},
          {"writes", of(witness::writes)},     {"hits", of(witness::hits)},
          {"progress", of(witness::progress)}, {"order", of(witness::order)},
          {"swaps", of(witness::swaps)}};
}

}  // namespace forge::labs
