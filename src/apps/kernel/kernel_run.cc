#include <charconv>
#include <iostream>

#include "forge/simt/checker.h"
#include "kernel_commands.h"
#include "kernel_report.h"
#include "kernel_sources.h"
#include "kernel_text.h"

namespace forge::apps {
namespace {

/// A launch that was run and counted.
tl::expected<KernelReport, std::string> counted_run(KernelSimulation& simulation,
                                                    const KernelOptions& options) {
  simt::TrafficCounter counter(simulation.caches());
  if (auto ran = simulation.run(counter); !ran) return tl::unexpected(to_string(ran.error()));
  auto comparisons = simulation.inputs().compare();
  if (!comparisons) return tl::unexpected(to_string(comparisons.error()));
  const gpu::KernelLaunch& launch = simulation.launch();
  return KernelReport{.kernel = simulation.kernel(),
                      .device = simulation.device(),
                      .launch = launch,
                      .sizes = options.sizes,
                      .seed = options.seed,
                      .occupancy = simulation.occupancy(),
                      .resources = gpu::resources_of(launch),
                      .work = sim::work_of(launch),
                      .time = sim::estimate(simulation.device(), launch),
                      .traffic = counter.result(),
                      .comparisons = *std::move(comparisons)};
}

/// The barrier that "barrier:N" means. Errors: name what there is.
tl::expected<simt::Site, std::string> find_barrier(const std::string& broken,
                                                   const KernelReport& report) {
  const auto barriers = barriers_of(report.traffic);
  const std::string prefix = "barrier:";
  std::size_t number = 0;
  const char* const end = broken.data() + broken.size();
  if (broken.rfind(prefix, 0) == 0) {
    const auto [rest, error] = std::from_chars(broken.data() + prefix.size(), end, number);
    if (error != std::errc() || rest != end) number = 0;
  }
  if (number >= 1 && number <= barriers.size()) return barriers[number - 1].site;
  const std::string what = barriers.empty()
                               ? "has no barrier of a block"
                               : "accepts barrier:1 to barrier:" + std::to_string(barriers.size());
  return tl::unexpected("--break " + broken + ": " + std::string(report.kernel.name()) + " " +
                        what);
}

/// Runs the launch once more under the checker, without the barrier.
int run_broken(const KernelOptions& options, const simt::Site& barrier) {
  auto simulation = KernelSimulation::create(options);
  if (!simulation) return unusable_kernel(simulation.error());
  std::cout << paragraph("kernel", std::string((*simulation)->kernel().name()))
            << paragraph("sizes", to_string((*simulation)->kernel(), options.sizes))
            << clipped("without     " + to_string(barrier) + "  " + source_line(barrier)) << "\n\n";
  simt::Checker checker((*simulation)->memory());
  if (auto ran = (*simulation)->run(checker, barrier); !ran) {
    std::cout << wrapped(to_string(ran.error()));
    return kKernelWrong;
  }
  std::cout << "No fault: with these sizes nothing depends on this barrier.\n";
  return kKernelRight;
}

}  // namespace

int run_kernel(const KernelOptions& options, const KernelRunOptions& run) {
  auto simulation = KernelSimulation::create(options);
  if (!simulation) return unusable_kernel(simulation.error());
  const auto report = counted_run(**simulation, options);
  if (!report) {
    std::cout << wrapped(report.error());
    return kKernelWrong;
  }
  if (!run.broken.empty()) {
    const auto barrier = find_barrier(run.broken, *report);
    if (!barrier) return unusable_kernel(barrier.error());
    return run_broken(options, *barrier);
  }
  if (run.as_json) {
    std::cout << to_json(*report).dump(2) << "\n";
  } else {
    std::cout << summary_text(*report) << (run.trace ? trace_text(report->traffic) : "");
  }
  return is_right(*report) ? kKernelRight : kKernelWrong;
}

}  // namespace forge::apps
