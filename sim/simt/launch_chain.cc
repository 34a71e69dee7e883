#include "forge/simt/launch_chain.h"

#include <utility>
#include <vector>

#include "block_checker.h"
#include "shadow_memory.h"

namespace forge::simt {
namespace {

/// An access: of which launch, by whom, where.
struct Mark {
  static constexpr std::int32_t kNone = -1;

  std::int32_t launch = kNone;
  std::uint16_t thread = 0;
  std::uint16_t site = 0;
};

/// The last accesses to a word.
struct Marks {
  Mark read;
  Mark write;
};

}  // namespace

struct LaunchChain::Touched {
  std::vector<std::string> kernels;  ///< the launches that may run, the running one last
  bool overlaps = false;             ///< does the running one?
  /// The last launch before the running one that has not waited: those before it may still run.
  std::int32_t unwaited = 0;
  SiteTable sites;
  ShadowMemory<Marks> memory;

  std::int32_t running() const { return static_cast<std::int32_t>(kernels.size()) - 1; }
};

LaunchChain::LaunchChain() : touched_(std::make_unique<Touched>()) {}

LaunchChain::~LaunchChain() = default;

void LaunchChain::begin(std::string kernel, bool overlaps) {
  if (!overlaps) end_all();
  touched_->kernels.push_back(std::move(kernel));
  touched_->overlaps = overlaps && touched_->running() > 0;
}

void LaunchChain::end_all() { touched_ = std::make_unique<Touched>(); }

std::optional<LaunchChain::Touch> LaunchChain::find(std::uintptr_t address, std::size_t bytes,
                                                    AccessKind kind, bool waited) const {
  Touched& touched = *touched_;
  if (!touched.overlaps) return std::nullopt;
  const std::int32_t end = waited ? touched.unwaited : touched.running();
  std::optional<Touch> found;
  touched.memory.for_each_known(address, bytes, [&](const Marks& marks) {
    for (const bool write : {true, false}) {
      const Mark& mark = write ? marks.write : marks.read;
      const bool apart = mark.launch == Mark::kNone || mark.launch >= end;
      if (found || apart || (!write && kind == AccessKind::read)) continue;
      found = {.kernel = touched.kernels[static_cast<std::size_t>(mark.launch)],
               .thread = mark.thread,
               .site = touched.sites[mark.site],
               .kind = write ? AccessKind::write : AccessKind::read};
    }
  });
  return found;
}

void LaunchChain::note(std::uintptr_t address, std::size_t bytes, AccessKind kind, int thread,
                       const Site& site) {
  const Mark mark{touched_->running(), static_cast<std::uint16_t>(thread),
                  touched_->sites.number(site)};
  touched_->memory.for_each(address, bytes, [&](std::uintptr_t, std::size_t, Marks& marks) {
    (kind == AccessKind::read ? marks.read : marks.write) = mark;
  });
}

void LaunchChain::end(bool waited) {
  if (touched_->overlaps && !waited) touched_->unwaited = touched_->running();
}

}  // namespace forge::simt
