#include <cstring>

#include "forge/simt/warp_log.h"
#include "traffic_request.h"

namespace forge::simt {
namespace {

using Value = std::array<std::byte, 16>;

/// A block that nobody asks about.
class OtherBlock : public BlockObserver {
 public:
  void access(const Access&) override {}
};

class LoggedBlock : public BlockObserver {
 public:
  explicit LoggedBlock(int warp) : warp_(warp) {}

  void access(const Access& access) override {
    finish_write();
    if (access.thread / kWarpSize != warp_) return;
    const int lane = access.thread % kWarpSize;
    std::vector<Value>& values = values_[static_cast<std::size_t>(lane)];
    const std::size_t first = values.size();
    requests_.add(lane, access);
    values.resize(requests_.pieces_of(lane));
    const Pending all{&values, first, access.data, access.bytes};
    if (access.kind == AccessKind::read) {
      take(all);
    } else {
      written_ = all;
    }
  }
  void block_barrier(Site site) override {
    finish();
    log.events.push_back({.kind = WarpEvent::Kind::block_meeting, .site = site});
  }
  void warp_barrier(int warp, Site site) override {
    finish_write();
    if (warp != warp_) return;
    finish();
    log.events.push_back({.kind = WarpEvent::Kind::warp_meeting, .site = site});
  }
  void shared_array(const char* name, std::size_t offset, std::size_t bytes) override {
    log.shared.push_back({name, offset, bytes});
  }

  /// Requests since the last meeting point become events.
  void finish() {
    finish_write();
    requests_.drain([this](const WarpRequest& request) {
      WarpEvent& event = log.events.emplace_back();
      event.site = request.site;
      event.space = request.space;
      event.access = request.kind;
      event.bytes = request.bytes;
      event.lanes = request.lanes;
      for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        if ((request.lanes >> lane & 1) == 0) continue;
        event.lane[lane] = {request.address[lane], values_[lane][request.piece[lane]]};
      }
    });
    for (std::vector<Value>& values : values_) values.clear();
  }

  WarpLog log;

 private:
  /// The bytes of one access, in pieces: values[first] and those after it.
  struct Pending {
    std::vector<Value>* values = nullptr;
    std::size_t first = 0;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  static void take(const Pending& pending) {
    const std::size_t piece = pending.bytes / (pending.values->size() - pending.first);
    for (std::size_t i = pending.first; i < pending.values->size(); ++i) {
      const std::byte* const from = pending.data + (i - pending.first) * piece;
      std::memcpy((*pending.values)[i].data(), from, piece);
    }
  }

  /// A write is reported before it happens, and has happened when anything else is reported.
  void finish_write() {
    if (written_.values != nullptr) take(written_);
    written_.values = nullptr;
  }

  int warp_;
  WarpRequests requests_;
  std::array<std::vector<Value>, kWarpSize> values_;  ///< of each lane, as its pieces
  Pending written_;
};

}  // namespace

RequestCost cost_of(const WarpEvent& event) {
  WarpRequest request{.bytes = event.bytes, .lanes = event.lanes};
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    request.address[lane] = event.lane[lane].address;
  }
  if (event.space == Space::shared) return {.wavefronts = count_wavefronts(request).needed};
  std::vector<SectorBytes> sectors;
  find_sectors(request, sectors);
  return {.sectors = static_cast<int>(sectors.size())};
}

WarpLogger::WarpLogger(long long block, int warp) : block_(block), warp_(warp) {}
WarpLogger::~WarpLogger() = default;

std::unique_ptr<BlockObserver> WarpLogger::begin_block(const LaunchShape& /*shape*/,
                                                       long long block) {
  if (block != block_) return std::make_unique<OtherBlock>();
  return std::make_unique<LoggedBlock>(warp_);
}

void WarpLogger::end_block(long long block, std::unique_ptr<BlockObserver> observer) {
  if (block != block_) return;
  auto& logged = static_cast<LoggedBlock&>(*observer);
  logged.finish();
  log_ = std::move(logged.log);
}

}  // namespace forge::simt
