// Recordings of step times to test with: of a target that does not exist, with times by a formula.
#pragma once

#include "step_recording.h"

namespace forge::testing {

/// Two requests, a prompt of 10 rows and one of 20: `factor` times 1 us for each key that is read
/// and 2 for each row, and 10 for the step.
inline apps::StepRecording synthetic_recording(const std::string& workload, double factor = 1) {
  apps::StepRecording recording{.target = {.kind = "cpu",
                                           .device = "Difference Engine",
                                           .instructions = "",
                                           .numerics = "canonical",
                                           .model = "forge-tiny",
                                           .config = "0123456789abcdef",
                                           .kv = "f32",
                                           .threads = 2},
                                .workload = {.mode = "continuous",
                                             .name = workload,
                                             .requests = 2,
                                             .max_batch_size = 4,
                                             .max_batch_tokens = 64}};
  const auto add = [&](const apps::StepWork& work, std::vector<std::uint32_t> arrived,
                       std::vector<std::uint32_t> tokens) {
    const auto keys = static_cast<double>(work.decode_keys + work.prompt_keys);
    const auto rows = static_cast<double>(work.decodes + work.prompt_rows);
    recording.steps.push_back({.step = recording.steps.size(),
                               .execute_us = factor * (keys + 2 * rows + 8),
                               .policy_us = factor * 2,
                               .work = work,
                               .arrived = std::move(arrived),
                               .tokens = std::move(tokens)});
  };
  add({.prompt_rows = 10, .prompt_keys = 55, .logit_rows = 1}, {0}, {0});
  add({.decodes = 1, .prompt_rows = 20, .decode_keys = 11, .prompt_keys = 210, .logit_rows = 2},
      {1}, {0, 1});
  for (std::uint64_t i = 0; i < 4; ++i) {
    add({.decodes = 2, .decode_keys = 33 + 2 * i, .logit_rows = 2}, {}, {0, 1});
  }
  add({.decodes = 1, .decode_keys = 25, .logit_rows = 1}, {}, {1});
  return recording;
}

}  // namespace forge::testing
