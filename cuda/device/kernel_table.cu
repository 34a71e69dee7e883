#include <array>

#include "kernel_table.h"
#include "kernels/kernels.cuh"

namespace forge::cuda {
namespace {

using Table = std::array<const void*, gpu::kKernelNames.size()>;

/// A kernel's place is that of the arguments it takes.
template <class Args>
void enter(Table& table, void (*kernel)(Args)) {
  table[static_cast<std::size_t>(Args::kId)] = reinterpret_cast<const void*>(kernel);
}

Table make_table() {
  namespace kernels = FORGE_KERNELS;
  Table table{};
  enter(table, kernels::update_tables);
  enter(table, kernels::copy_blocks);
  enter(table, kernels::embed);
  enter(table, kernels::rms_norm);
  enter(table, kernels::project);
  enter(table, kernels::rotate_and_store);
  enter(table, kernels::attend_decode);
  enter(table, kernels::attend_split);
  enter(table, kernels::attend_merge);
  enter(table, kernels::attend_prompt);
  enter(table, kernels::silu_multiply);
  enter(table, kernels::sample);
  enter(table, kernels::digest_logits);
  return table;
}

}  // namespace

const void* kernel_entry(gpu::KernelId kernel) {
  static const Table table = make_table();
  return table[static_cast<std::size_t>(kernel)];
}

}  // namespace forge::cuda
