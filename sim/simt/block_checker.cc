#include "block_checker.h"

#include <utility>

#include "forge/simt/machine.h"
#include "words.h"

namespace forge::simt {
namespace {

KernelFault fault_of(FaultKind kind, const Access& access, std::string detail) {
  KernelFault fault;
  fault.kind = kind;
  fault.threads = {access.thread};
  fault.sites = {access.site};
  fault.detail = std::string(name_of(access.kind)) + " of " + std::move(detail);
  return fault;
}

}  // namespace

std::string NamedMemory::describe(std::uintptr_t address, std::size_t count) const {
  const auto offset = static_cast<std::ptrdiff_t>(address - begin);
  return count_bytes(count) + " at offset " + std::to_string(offset) + " of " + name + " (" +
         count_bytes(bytes) + ")";
}

void BlockChecker::shared_array(const char* name, std::size_t offset, std::size_t bytes) {
  shared_arrays_.push_back({"shared array '" + std::string(name) + "'", offset, bytes});
}

void BlockChecker::block_barrier(Site) {
  finished();
  clock_.block_barrier();
}

void BlockChecker::finished() {
  if (uninitialised_.has_value()) throw *std::exchange(uninitialised_, std::nullopt);
}

/// What was read uninitialised may have led to anything, so that comes first.
void BlockChecker::stop(FaultKind kind, const Access& access, std::string detail) {
  finished();
  throw fault_of(kind, access, std::move(detail));
}

void BlockChecker::access(const Access& access) {
  const NamedMemory& memory = memory_of(access);
  if (!memory.holds(access.address, access.bytes)) out_of_bounds(access, &memory);
  if (access.address % access.alignment != 0) {
    stop(FaultKind::misaligned, access,
         memory.describe(access.address, access.bytes) + ", not a multiple of " +
             std::to_string(access.alignment));
  }
  if (copies_ && access.space == Space::shared) check_copies(access, memory);
  if (chain_ != nullptr && access.space == Space::global) check_launches(access, memory);
  check_races(access, memory);
}

void BlockChecker::copy_started(const Access* from, const Access& to) {
  if (from != nullptr) access(*from);
  access(to);
  copies_ = true;
  const Event start = clock_.event(to.thread, sites_.number(to.site));
  arriving_.for_each(to.address, to.bytes,
                     [&](std::uintptr_t, std::size_t, Event& arriving) { arriving = start; });
}

/// From here on the copy is a write by its thread, which all others have to meet.
void BlockChecker::copy_arrived(const Access& to) {
  const Event arrival = clock_.event(to.thread, sites_.number(to.site));
  arriving_.for_each(to.address, to.bytes,
                     [](std::uintptr_t, std::size_t, Event& arriving) { arriving = Event(); });
  shared_.for_each(to.address, to.bytes, [&](std::uintptr_t, std::size_t, AccessHistory& history) {
    history = {.write = arrival, .reads = {}};
  });
}

/// Where it lands may be the shared memory of another block by then.
void BlockChecker::copy_abandoned(const Access& to) {
  stop(FaultKind::pending_copy, to,
       memory_of(to).describe(to.address, to.bytes) +
           ", by a copy on its way; its thread has returned and not waited for it");
}

void BlockChecker::check_launches(const Access& access, const NamedMemory& memory) {
  const bool waited = waited_[static_cast<std::size_t>(access.thread)];
  const auto earlier = chain_->find(access.address, access.bytes, access.kind, waited);
  if (!earlier) return;
  KernelFault fault;
  fault.kind = FaultKind::race;
  fault.threads = {earlier->thread, access.thread};
  fault.sites = {earlier->site, access.site};
  fault.detail = std::string(name_of(earlier->kind)) + " by '" + earlier->kernel +
                 "', launched before, then " + std::string(name_of(access.kind)) + " of " +
                 memory.describe(access.address, access.bytes) + "; " +
                 (waited ? "a launch between them has not waited for it"
                         : "the thread has not waited for it (wait_for_previous)");
  uninitialised_.reset();
  throw fault;
}

void BlockChecker::check_copies(const Access& access, const NamedMemory& memory) {
  arriving_.for_each(access.address, access.bytes,
                     [&](std::uintptr_t address, std::size_t bytes, const Event& arriving) {
                       if (!arriving.happened()) return;
                       KernelFault fault;
                       fault.kind = FaultKind::pending_copy;
                       fault.threads = {arriving.thread, access.thread};
                       fault.sites = {sites_[arriving.site], access.site};
                       fault.detail = "a copy is on its way, then " +
                                      std::string(name_of(access.kind)) + " of " +
                                      memory.describe(address, bytes) + "; thread " +
                                      std::to_string(arriving.thread) + " has not waited for it";
                       uninitialised_.reset();
                       throw fault;
                     });
}

/// The memory that the pointer was made from.
const NamedMemory& BlockChecker::memory_of(const Access& access) {
  if (access.space == Space::shared) {
    for (const NamedMemory& array : shared_arrays_) {
      if (array.begin == access.base) return array;
    }
    out_of_bounds(access, nullptr);
  }
  if (last_buffer_ < buffers_.size() && buffers_[last_buffer_].holds(access.base, 1)) {
    return buffers_[last_buffer_];
  }
  const MemoryRange* range = memory_.find(access.base, 0);
  if (range == nullptr) out_of_bounds(access, nullptr);
  for (last_buffer_ = 0; last_buffer_ < buffers_.size(); ++last_buffer_) {
    if (buffers_[last_buffer_].begin == range->begin) return buffers_[last_buffer_];
  }
  buffers_.push_back({"'" + range->name + "'", range->begin, range->bytes});
  return buffers_.back();
}

void BlockChecker::out_of_bounds(const Access& access, const NamedMemory* memory) {
  if (memory == nullptr) {
    stop(FaultKind::out_of_bounds, access,
         count_bytes(access.bytes) + " through a pointer to no buffer of the device");
  }
  std::string detail = memory->describe(access.address, access.bytes);
  if (access.space == Space::global) {
    const MemoryRange* other = memory_.find(access.address, 1);
    if (other != nullptr) {
      detail += "; '" + other->name + "' is there, at offset " +
                std::to_string(access.address - other->begin);
    }
  } else {
    for (const NamedMemory& other : shared_arrays_) {
      if (other.holds(access.address, 1)) detail += "; " + other.name + " is there";
    }
  }
  stop(FaultKind::out_of_bounds, access, std::move(detail));
}

void BlockChecker::check_races(const Access& access, const NamedMemory& memory) {
  const bool shared = access.space == Space::shared;
  const Event event = clock_.event(access.thread, sites_.number(access.site));
  const auto check = [&](std::uintptr_t address, std::size_t bytes, AccessHistory& history) {
    const bool needs = access.kind != AccessKind::write;  // what is there before
    if (needs && shared && !history.written() && !uninitialised_.has_value()) {
      uninitialised_ = fault_of(FaultKind::uninitialised, access,
                                memory.describe(address, bytes) + "; nobody has written there");
    }
    const std::optional<Race> race =
        access.kind == AccessKind::read  ? clock_.note_read(history, event)
        : access.kind == AccessKind::add ? clock_.note_add(history, event)
                                         : clock_.note_write(history, event);
    if (!race.has_value()) return;
    KernelFault fault;
    fault.kind = FaultKind::race;
    fault.threads = {race->earlier.thread, access.thread};
    fault.sites = {sites_[race->earlier.site], access.site};
    fault.detail = std::string(name_of(race->kind)) + ", then " +
                   std::string(name_of(access.kind)) + " of " + memory.describe(address, bytes) +
                   "; no barrier between them";
    uninitialised_.reset();
    throw fault;
  };
  (shared ? shared_ : global_).for_each(access.address, access.bytes, check);
}

}  // namespace forge::simt
