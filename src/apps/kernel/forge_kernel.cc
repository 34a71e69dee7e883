// forge-kernel: run one kernel on the simulated GPU, with inputs made up from a seed, and look at
// what it does.
//
// Exit status: 0 right (or done), 1 a fault or a wrong result, 2 unusable arguments.
#include <CLI/CLI.hpp>
#include <iostream>

#include "kernel_commands.h"
#include "kernel_text.h"
#include "subcommands.h"

namespace forge::apps {

int unusable_kernel(const std::string& message) {
  std::cerr << wrapped("forge-kernel: " + message);
  return kKernelUnusable;
}

int list_kernels() {
  for (const KernelEntry& kernel : kernel_entries()) {
    std::string flags;
    for (const auto member : kernel.sizes) {
      flags += (flags.empty() ? "" : " ") + std::string(flag_of(member).name) + " " +
               std::to_string(KernelSizes().*member);
    }
    const std::string alias = *kernel.alias == '\0' ? "" : " (" + std::string(kernel.alias) + ")";
    std::cout << padded_right(std::string(kernel.name()) + alias, 34) << kernel.what << "\n"
              << paragraph("", flags);
  }
  return kKernelRight;
}

namespace {

/// The command line, and the command that it asks for.
class Commands : public Subcommands {
 public:
  Commands()
      : Subcommands("Runs the kernels of the GPU target, one at a time, on a simulated GPU.",
                    "forge-kernel") {
    add("list", "Print the kernels, with the sizes that each has and their defaults",
        [] { return list_kernels(); });
    add_run();
    add_step();
  }

 private:
  CLI::App* add_for_kernel(const char* name, const char* what, std::function<int()> command) {
    CLI::App* const added = add(name, what, std::move(command));
    added->add_option("KERNEL", options_.kernel, "A name that list prints")->required();
    added->add_option("--seed", options_.seed, "Seed of the inputs")->capture_default_str();
    added->add_option("--device", options_.device, "Name of a built-in description, or a JSON file")
        ->capture_default_str();
    for (const SizeFlag& flag : size_flags()) {
      const auto set = [this, &flag](const int& value) {
        options_.sizes.*flag.member = value;
        options_.given.push_back(flag.member);
      };
      added->add_option_function<int>(flag.name, set, flag.help)
          ->check(CLI::Range(flag.low, flag.high))
          ->default_str(std::to_string(options_.sizes.*flag.member))
          ->group("Sizes (each kernel has some)");
    }
    return added;
  }

  void add_run() {
    CLI::App* const added =
        add_for_kernel("run", "Run a kernel, compare it with the CPU, estimate its time",
                       [this] { return run_kernel(options_, run_); });
    added->add_flag("--trace", run_.trace, "Print requests by line and bytes by level");
    added->add_flag("--json", run_.as_json, "Print all of it as JSON");
    added->add_option("--break", run_.broken,
                      "barrier:N leaves out the N-th barrier and looks for a race");
  }

  void add_step() {
    CLI::App* const added = add_for_kernel("step", "Show the lanes of a warp at a line of a kernel",
                                           [this] { return step_kernel(options_, step_); });
    added->add_option("--line", step_.line, "FILE:LINE, LINE, or a piece of the line's text")
        ->required();
    added->add_option("--block", step_.block, "Number of the block")->capture_default_str();
    added->add_option("--warp", step_.warp, "Number of the warp in its block")
        ->capture_default_str();
    added
        ->add_option("--occurrence", step_.occurrence,
                     "Times that the warp has been at the line before")
        ->capture_default_str();
  }

  KernelOptions options_;
  KernelRunOptions run_;
  KernelStepOptions step_;
};

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  return forge::apps::Commands().run(argc, argv, forge::apps::kKernelUnusable);
}
