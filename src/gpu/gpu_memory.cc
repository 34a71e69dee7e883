// What an executor takes, counted: everything is made with an allocator that has no device.
#include "allocator.h"
#include "block_tables.h"
#include "capacity.h"
#include "device_model.h"
#include "forge/gpu/gpu_executor.h"
#include "step_mailbox.h"

namespace forge::gpu {
namespace {

/// The bytes that `take` asks an allocator for.
template <class Take>
MemoryBytes bytes_of(const Take& take) {
  Allocator allocator;
  take(allocator);
  return allocator.bytes();
}

MemoryBytes operator+(const MemoryBytes& a, const MemoryBytes& b) {
  return {a.device + b.device, a.pinned + b.pinned};
}
MemoryBytes operator-(const MemoryBytes& a, const MemoryBytes& b) {
  return {a.device - b.device, a.pinned - b.pinned};
}

}  // namespace

MemoryBytes GpuMemory::all() const { return weights + scratch + kv; }

GpuMemory GpuExecutor::memory(const GpuModels& models, const executor::ExecutorOptions& options,
                              const GpuOptions& gpu) {
  GpuMemory memory;
  const auto add = [&](const GpuModel& model) {
    const Capacity capacity(model.config(), options, terms_of(models, gpu));
    memory.weights = memory.weights + bytes_of([&](Allocator& allocator) {
                       const DeviceWeights weights(model, capacity.slab_rows, allocator, nullptr);
                     });
    const MemoryBytes kv = kv_bytes(options, capacity);
    const MemoryBytes rest = bytes_of([&](Allocator& allocator) {
      const ModelBuffers buffers(model, options, capacity, allocator);
    });
    memory.kv = memory.kv + kv;
    memory.scratch = memory.scratch + (rest - kv);
  };
  add(models.model);
  if (models.draft) add(*models.draft);
  memory.scratch = memory.scratch + bytes_of([&](Allocator& allocator) {
                     const Capacity capacity(models.model.config(), options, terms_of(models, gpu));
                     const BlockTables tables(capacity, allocator);
                     const StepMailbox mailbox(capacity, allocator);
                   });
  return memory;
}

}  // namespace forge::gpu
