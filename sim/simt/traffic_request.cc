#include "traffic_request.h"

#include <algorithm>

#include "forge/simt/traffic.h"

namespace forge::simt {
namespace {

constexpr std::uintptr_t kWordBytes = 4;
constexpr int kWidestBytes = 16;

bool same_stream(const Access& a, const Access& b) {
  return a.space == b.space && a.kind == b.kind && a.bytes == b.bytes && a.site == b.site;
}

/// Most words that one bank has to deliver to the lanes [first, first + count).
int busiest_bank(const WarpRequest& request, int first, int count) {
  std::array<std::uintptr_t, kWarpSize * kWidestBytes / kWordBytes> words;
  std::size_t used = 0;
  std::uintptr_t before = UINTPTR_MAX;  // often all lanes want the same
  for (int lane = first; lane < first + count; ++lane) {
    const std::uintptr_t begin = request.address[static_cast<std::size_t>(lane)];
    if ((request.lanes >> lane & 1) == 0 || begin == before) continue;
    before = begin;
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(request.bytes);
    for (std::uintptr_t w = begin / kWordBytes; w * kWordBytes < end; ++w) words[used++] = w;
  }
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(used);
  if (!std::is_sorted(words.begin(), end)) std::sort(words.begin(), end);
  std::array<int, kBanks> in_bank{};
  std::for_each(words.begin(), std::unique(words.begin(), end),
                [&](std::uintptr_t w) { ++in_bank[w % kBanks]; });
  return *std::max_element(in_bank.begin(), in_bank.end());
}

/// Adds the bytes [address, address + bytes), which lie in one sector or in two.
void add_bytes(std::uintptr_t address, int bytes, std::vector<SectorBytes>& out) {
  const std::uintptr_t sector = address / kSectorBytes;
  const std::uintptr_t offset = address % kSectorBytes;
  const std::uint64_t mask = ((std::uint64_t{1} << bytes) - 1) << offset;
  if (out.empty() || out.back().sector != sector) out.push_back({sector, 0});
  out.back().bytes |= static_cast<std::uint32_t>(mask);
  if (mask >> kSectorBytes != 0) {
    out.push_back({sector + 1, static_cast<std::uint32_t>(mask >> kSectorBytes)});
  }
}

bool is_before(const SectorBytes& a, const SectorBytes& b) { return a.sector < b.sector; }

}  // namespace

void find_sectors(const WarpRequest& request, std::vector<SectorBytes>& out) {
  out.clear();
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((request.lanes >> lane & 1) == 0) continue;
    add_bytes(request.address[static_cast<std::size_t>(lane)], request.bytes, out);
  }
  if (!std::is_sorted(out.begin(), out.end(), is_before)) {
    std::sort(out.begin(), out.end(), is_before);
  }
  std::size_t used = 0;
  for (const SectorBytes& part : out) {
    if (used > 0 && out[used - 1].sector == part.sector) {
      out[used - 1].bytes |= part.bytes;
    } else {
      out[used++] = part;
    }
  }
  out.resize(used);
}

Wavefronts count_wavefronts(const WarpRequest& request) {
  const int phases = std::max(1, request.bytes / static_cast<int>(kWordBytes));
  const int lanes = kWarpSize / phases;
  Wavefronts wavefronts;
  for (int first = 0; first < kWarpSize; first += lanes) {
    const int needed = busiest_bank(request, first, lanes);
    wavefronts.needed += needed;
    wavefronts.least += needed > 0 ? 1 : 0;
  }
  return wavefronts;
}

void WarpRequests::add(int lane, const Access& access) {
  // A struct moves in pieces of its alignment, one instruction each.
  const int piece = std::min<int>({access.bytes, access.alignment, kWidestBytes});
  const auto at = static_cast<std::size_t>(lane);
  Stream& stream = stream_of(access);
  for (int offset = 0; offset < access.bytes; offset += piece) {
    std::uint32_t& count = stream.count[at];
    if (count == stream.requests.size()) {
      stream.requests.push_back(static_cast<std::uint32_t>(requests_.size()));
      WarpRequest& request = requests_.emplace_back();
      request.site = access.site;
      request.space = access.space;
      request.kind = access.kind;
      request.bytes = piece;
    }
    WarpRequest& request = requests_[stream.requests[count++]];
    request.lanes |= std::uint32_t{1} << lane;
    request.address[at] = access.address + static_cast<std::uintptr_t>(offset);
    request.piece[at] = pieces_[at]++;
  }
}

WarpRequests::Stream& WarpRequests::stream_of(const Access& access) {
  // Lanes go from place to place in the same order, so the next stream is the likely one.
  for (std::size_t i = 0; i < streams_.size(); ++i, ++last_) {
    if (last_ >= streams_.size()) last_ = 0;
    if (same_stream(streams_[last_].first, access)) return streams_[last_];
  }
  last_ = streams_.size();
  return streams_.emplace_back(Stream{access, {}, {}});
}

}  // namespace forge::simt
