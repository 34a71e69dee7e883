#include "forge/simt/traffic.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "sector_cache.h"
#include "traffic_request.h"

namespace forge::simt {
namespace {

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t& of(LevelTraffic& level, AccessKind kind) {
  return kind == AccessKind::read ? level.read : level.written;
}

void add(LevelTraffic& sum, const LevelTraffic& part) {
  sum.read += part.read;
  sum.written += part.written;
}

bool same(const LineTraffic& a, const LineTraffic& b) {
  return a.space == b.space && a.kind == b.kind && a.site == b.site;
}
bool same(const LineMeetings& a, const LineMeetings& b) {
  return a.whole_block == b.whole_block && a.site == b.site;
}

/// The entry like `wanted`, added if there is none.
template <class Line>
Line& line_like(std::vector<Line>& lines, const Line& wanted) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const Line& line) { return same(line, wanted); });
  return found != lines.end() ? *found : lines.emplace_back(wanted);
}

/// Which bytes of a sector were read, and which written.
struct TouchedBytes {
  std::uint32_t read = 0;
  std::uint32_t written = 0;
};
using TouchedSectors = std::unordered_map<std::uintptr_t, TouchedBytes>;

LevelTraffic bytes_of(const TouchedSectors& touched) {
  LevelTraffic bytes;
  for (const auto& [sector, part] : touched) {
    bytes.read += static_cast<std::uint64_t>(std::popcount(part.read));
    bytes.written += static_cast<std::uint64_t>(std::popcount(part.written));
  }
  return bytes;
}

/// What L1 hands on.
struct L2Request {
  SectorBytes part;
  AccessKind kind;
};

class BlockTraffic : public BlockObserver {
 public:
  BlockTraffic(int warps, std::uint64_t l1_bytes)
      : warps_(static_cast<std::size_t>(warps)), l1_(l1_bytes) {}

  void access(const Access& access) override {
    warps_[static_cast<std::size_t>(access.thread / kWarpSize)].add(access.thread % kWarpSize,
                                                                    access);
  }
  void block_barrier(Site site) override {
    count_all();
    ++line_like(meetings, {site, true, 0}).count;
  }
  void warp_barrier(int warp, Site site) override {
    count(warps_[static_cast<std::size_t>(warp)]);
    ++line_like(meetings, {site, false, 0}).count;
  }
  void shared_array(const char* name, std::size_t /*offset*/, std::size_t bytes) override {
    shared.push_back({name, bytes});
  }

  /// What follows the last meeting point.
  void count_all() {
    for (WarpRequests& warp : warps_) count(warp);
  }

  std::vector<LineTraffic> lines;
  std::vector<LineMeetings> meetings;
  std::vector<SharedArrayUse> shared;
  LevelTraffic asked;
  LevelTraffic l1;
  LevelTraffic l2;
  std::vector<L2Request> l2_requests;
  TouchedSectors touched;

 private:
  void count(WarpRequests& warp) {
    warp.drain([this](const WarpRequest& request) { count(request); });
  }

  void count(const WarpRequest& request) {
    LineTraffic& line = line_like(lines, {request.site, request.space, request.kind});
    const auto lanes = static_cast<std::uint64_t>(std::popcount(request.lanes));
    const std::uint64_t bytes = lanes * static_cast<std::uint64_t>(request.bytes);
    ++line.requests;
    line.lanes += lanes;
    line.bytes += bytes;
    if (request.space == Space::shared) {
      const Wavefronts wavefronts = count_wavefronts(request);
      line.wavefronts += static_cast<std::uint64_t>(wavefronts.needed);
      line.wavefronts_least += static_cast<std::uint64_t>(wavefronts.least);
      return;
    }
    find_sectors(request, sectors_);
    line.sectors += sectors_.size();
    for (const SectorBytes& part : sectors_) {
      line.bytes_used += static_cast<std::uint64_t>(std::popcount(part.bytes));
    }
    of(asked, request.kind) += bytes;
    of(l1, request.kind) += sectors_.size() * kSectorBytes;
    for (const SectorBytes& part : sectors_) pass_l1(part, request.kind);
  }

  void pass_l1(const SectorBytes& part, AccessKind kind) {
    TouchedBytes& bytes = touched[part.sector];
    (kind == AccessKind::read ? bytes.read : bytes.written) |= part.bytes;
    if (kind == AccessKind::read && l1_.read(part)) return;
    of(l2, kind) += kSectorBytes;
    l2_requests.push_back({part, kind});
  }

  std::vector<WarpRequests> warps_;
  SectorCache l1_;
  std::vector<SectorBytes> sectors_;
};

}  // namespace

double LineTraffic::sectors_per_request() const { return ratio(sectors, requests); }
double LineTraffic::lanes_per_request() const { return ratio(lanes, requests); }
double LineTraffic::used() const { return ratio(bytes_used, sectors * kSectorBytes); }

std::size_t Traffic::shared_bytes() const {
  std::size_t bytes = 0;
  for (const SharedArrayUse& array : shared) bytes += array.bytes;
  return bytes;
}

/// What the blocks that have ended add up to.
struct TrafficCounter::Sums {
  explicit Sums(std::uint64_t l2_bytes) : l2(l2_bytes) {}

  void add_block(const BlockTraffic& block) {
    for (const LineTraffic& line : block.lines) {
      LineTraffic& sum = line_like(traffic.lines, {line.site, line.space, line.kind});
      sum.requests += line.requests;
      sum.lanes += line.lanes;
      sum.bytes += line.bytes;
      sum.sectors += line.sectors;
      sum.bytes_used += line.bytes_used;
      sum.wavefronts += line.wavefronts;
      sum.wavefronts_least += line.wavefronts_least;
    }
    for (const LineMeetings& meeting : block.meetings) {
      line_like(traffic.meetings, {meeting.site, meeting.whole_block, 0}).count += meeting.count;
    }
    // A block that returns at once may declare less than others.
    if (block.shared.size() > traffic.shared.size()) traffic.shared = block.shared;
    add(traffic.asked, block.asked);
    add(traffic.l1, block.l1);
    add(traffic.l2, block.l2);
    add(traffic.once_a_block, bytes_of(block.touched));
    for (const auto& [sector, bytes] : block.touched) {
      TouchedBytes& sum = touched[sector];
      sum.read |= bytes.read;
      sum.written |= bytes.written;
    }
    for (const L2Request& request : block.l2_requests) pass_l2(request);
  }

  void pass_l2(const L2Request& request) {
    if (request.kind == AccessKind::write) {
      l2.write(request.part);
    } else if (!l2.read(request.part)) {
      traffic.memory.read += kSectorBytes;
    }
  }

  Traffic traffic;
  SectorCache l2;
  TouchedSectors touched;
};

TrafficCounter::TrafficCounter(const CacheSizes& sizes)
    : sizes_(sizes), sums_(std::make_unique<Sums>(sizes.l2_bytes)) {}
TrafficCounter::~TrafficCounter() = default;

std::unique_ptr<BlockObserver> TrafficCounter::begin_block(const LaunchShape& shape,
                                                           long long /*block*/) {
  return std::make_unique<BlockTraffic>(shape.threads / kWarpSize, sizes_.l1_bytes);
}

void TrafficCounter::end_block(long long /*block*/, std::unique_ptr<BlockObserver> observer) {
  auto& block = static_cast<BlockTraffic&>(*observer);
  block.count_all();
  sums_->add_block(block);
}

Traffic TrafficCounter::result() const {
  Traffic traffic = sums_->traffic;
  traffic.memory.written = (sums_->l2.written_back() + sums_->l2.waiting()) * kSectorBytes;
  traffic.once = bytes_of(sums_->touched);
  std::sort(traffic.lines.begin(), traffic.lines.end(),
            [](const LineTraffic& a, const LineTraffic& b) {
              return std::tuple(std::string_view(a.site.file), a.site.line, a.space, a.kind) <
                     std::tuple(std::string_view(b.site.file), b.site.line, b.space, b.kind);
            });
  std::sort(traffic.meetings.begin(), traffic.meetings.end(),
            [](const LineMeetings& a, const LineMeetings& b) {
              return std::tuple(std::string_view(a.site.file), a.site.line, a.whole_block) <
                     std::tuple(std::string_view(b.site.file), b.site.line, b.whole_block);
            });
  return traffic;
}

}  // namespace forge::simt
