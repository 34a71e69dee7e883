#include "forge/simt/checker.h"

#include <limits>
#include <string>
#include <utility>

#include "block_checker.h"
#include "forge/core/check.h"
#include "words.h"

namespace forge::simt {
namespace {

/// Of one word: the first block that has written it or, if none has, the first that has read it.
struct BlockAccess {
  static constexpr std::int32_t kNobody = -1;

  std::int32_t block = kNobody;
  std::uint16_t thread = 0;
  std::uint16_t site = 0;
  AccessKind kind = AccessKind::read;
};

std::string verb(AccessKind kind) { return std::string(name_of(kind)) + "s"; }

}  // namespace

/// What the blocks so far have touched.
struct Checker::Footprint {
  explicit Footprint(const MemoryMap& memory_map) : map(memory_map) {}

  const MemoryMap& map;
  SiteTable sites;
  ShadowMemory<BlockAccess> memory;

  /// Throws KernelFault if the block shares a word with an earlier one, and one of them writes it.
  void add(std::int32_t block, BlockChecker& checker);

 private:
  [[noreturn]] void stop(const BlockAccess& earlier, const BlockAccess& later,
                         const LaunchShape& shape, std::uintptr_t address);
};

void Checker::Footprint::add(std::int32_t block, BlockChecker& checker) {
  checker.global_memory().for_all([&](std::uintptr_t begin, std::size_t bytes,
                                      const AccessHistory& history) {
    const bool wrote = history.written();
    const Event& event = history.write.happened() ? history.write : history.reads[0];
    if (!event.happened()) return;
    const BlockAccess access{.block = block,
                             .thread = event.thread,
                             .site = sites.number(checker.site(event.site)),
                             .kind = wrote ? AccessKind::write : AccessKind::read};
    memory.for_each(begin, bytes, [&](std::uintptr_t address, std::size_t, BlockAccess& earlier) {
      if (earlier.block == BlockAccess::kNobody) {
        earlier = access;
      } else if (wrote || earlier.kind == AccessKind::write) {
        stop(earlier, access, checker.shape(), address);
      }
    });
  });
}

void Checker::Footprint::stop(const BlockAccess& earlier, const BlockAccess& later,
                              const LaunchShape& shape, std::uintptr_t address) {
  const MemoryRange& range = *map.find(address, 1);
  KernelFault fault;
  fault.kind = FaultKind::race;
  fault.threads = {earlier.thread, later.thread};
  fault.sites = {sites[earlier.site], sites[later.site]};
  fault.detail = "block " + to_string(shape.index_of(earlier.block)) + " " + verb(earlier.kind) +
                 ", this block " + verb(later.kind) + " offset " +
                 std::to_string(address - range.begin) + " of '" + range.name + "' (" +
                 count_bytes(range.bytes) + "); blocks are not ordered";
  throw fault;
}

Checker::Checker(const MemoryMap& memory, LaunchChain* chain)
    : memory_(memory), chain_(chain), footprint_(std::make_unique<Footprint>(memory)) {}

Checker::~Checker() = default;

std::unique_ptr<BlockObserver> Checker::begin_block(const LaunchShape& shape, long long) {
  return std::make_unique<BlockChecker>(memory_, shape, chain_);
}

void Checker::end_block(long long block, std::unique_ptr<BlockObserver> observer) {
  FORGE_CHECK(block <= std::numeric_limits<std::int32_t>::max(), "block=", block);
  auto& checker = static_cast<BlockChecker&>(*observer);
  all_waited_ = all_waited_ && checker.all_waited();
  footprint_->add(static_cast<std::int32_t>(block), checker);
}

void Checker::end_launch() {
  footprint_->memory.for_all(
      [&](std::uintptr_t address, std::size_t bytes, const BlockAccess& access) {
        if (access.block == BlockAccess::kNobody) return;
        chain_->note(address, bytes, access.kind, access.thread, footprint_->sites[access.site]);
      });
  chain_->end(all_waited_);
}

}  // namespace forge::simt
