// What tests of models in fast numerics run: requests on a device, and what comes out of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "forge/core/request.h"
#include "forge/core/scheduler_config.h"
#include "forge/gpu/device.h"
#include "forge/gpu/gpu_executor.h"
#include "forge/numerics/kv_type.h"
#include "forge/numerics/matrix_step.h"
#include "forge/sim/sim_library.h"
#include "gpu/fast_models.h"
#include "gpu/replay_world.h"
#include "gpu/watched_device.h"

namespace forge::testing {

/// What came out of a request.
struct Output {
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t> logits;
  friend bool operator==(const Output&, const Output&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Output& output) {
    for (std::size_t i = 0; i < output.tokens.size(); ++i) {
      out << output.tokens[i].value << '/' << std::hex << output.logits[i] << std::dec << ' ';
    }
    return out;
  }
};

/// Where and how requests run.
struct Place {
  Replayer device = Replayer::sim;
  const char* simulated = "h200";
  std::optional<std::uint64_t> shared_bytes =
      {};                              ///< of a simulated multiprocessor, if not its own
  bool checked = false;                ///< simulated: look for races, threads in another order
  sim::SimLibrary* library = nullptr;  ///< simulated
  numerics::KvType kv_type = numerics::KvType::bf16;
  std::uint32_t drafts = 0;
  gpu::GpuOptions gpu = {};
  SchedulerConfig scheduler = {};
  bool at_once = false;  ///< all requests are there before the first step; otherwise one a step
  Watch watch = {};      ///< simulated, without graphs: sees each launch
};

struct Outputs {
  std::vector<Output> of;  ///< each request
  Events events;
  gpu::GpuStatistics statistics;
  gpu::LibraryReport library;
  numerics::StepModel step;               ///< of the device's tensor cores
  std::optional<gpu::Estimate> estimate;  ///< of a simulated device: with launches by kernel

  /// Launches of a kernel. Requires: the device is simulated.
  std::uint64_t launches(gpu::KernelId kernel) const {
    return estimate.value().kernels[static_cast<std::size_t>(kernel)].launches;
  }
};

std::unique_ptr<gpu::Device> open(const Place& place);

/// Submits the requests, and runs until all have ended.
Outputs run(const gpu::GpuModels& models, const Place& place, const std::vector<Request>& requests);

/// Requests of equal prompts, as far as they go, for ten tokens; every third samples.
Request request_of(int vocabulary, std::uint32_t prompt, std::uint32_t seed,
                   std::uint32_t new_tokens);

/// Room for one request of any length, in blocks of that size.
SchedulerConfig roomy(std::uint32_t block_size);

/// Of a prompt of so many tokens, alone, in one chunk. Returns: what came out. Where there are many
/// rows, attend_wide had them.
Output expect_reference(FastModel& model, const Place& place, std::uint32_t prompt);

/// How many requests share how many blocks of four tokens.
struct Crowding {
  std::uint32_t requests = 6;
  std::uint32_t blocks = 20;
  bool checked = true;  ///< as Place says
};

/// The same comes out of requests in a crowd as of each alone: chunks, prefix hits, swaps,
/// recomputes, drafts, with and without graphs and overlap, in slabs of few rows: products of a
/// request's rows are of few rows here and of many there, where `kernels` have their launches.
void expect_alone_as_beside(FastModel& model, Replayer device,
                            std::initializer_list<gpu::KernelId> kernels,
                            const Crowding& crowding = {});

}  // namespace forge::testing
