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

/// Words of the lanes [first, first + count) that take part, each once.
int busiest_bank(const WarpRequest& request, int first, int count) {
  std::array<std::uintptr_t, kWarpSize * kWidestBytes / kWordBytes> words;
  std::size_t used = 0;
  for (int lane = first; lane < first + count; ++lane) {
    if ((request.lanes >> lane & 1) == 0) continue;
    const std::uintptr_t begin = request.address[static_cast<std::size_t>(lane)];
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(request.bytes);
    for (std::uintptr_t w = begin / kWordBytes; w * kWordBytes < end; ++w) words[used++] = w;
  }
  std::sort(words.begin(), words.begin() + used);
  const auto last = std::unique(words.begin(), words.begin() + used);
  std::array<int, kBanks> in_bank{};
  std::for_each(words.begin(), last, [&](std::uintptr_t w) { ++in_bank[w % kBanks]; });
  return *std::max_element(in_bank.begin(), in_bank.end());
}

}  // namespace

void find_sectors(const WarpRequest& request, std::vector<SectorBytes>& out) {
  out.clear();
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((request.lanes >> lane & 1) == 0) continue;
    const std::uintptr_t address = request.address[static_cast<std::size_t>(lane)];
    for (int i = 0; i < request.bytes; ++i) {
      const std::uintptr_t byte = address + static_cast<std::uintptr_t>(i);
      const std::uintptr_t sector = byte / kSectorBytes;
      if (out.empty() || out.back().sector != sector) out.push_back({sector, 0});
      out.back().bytes |= std::uint32_t{1} << (byte % kSectorBytes);
    }
  }
  std::sort(out.begin(), out.end(),
            [](const SectorBytes& a, const SectorBytes& b) { return a.sector < b.sector; });
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
  for (int offset = 0; offset < access.bytes; offset += piece) {
    Access part = access;
    part.bytes = static_cast<std::uint16_t>(piece);
    part.address = access.address + static_cast<std::uintptr_t>(offset);
    Stream& stream = stream_of(part);
    std::uint32_t& count = stream.count[static_cast<std::size_t>(lane)];
    if (count == stream.requests.size()) {
      stream.requests.push_back(static_cast<std::uint32_t>(requests_.size()));
      WarpRequest& request = requests_.emplace_back();
      request.site = part.site;
      request.space = part.space;
      request.kind = part.kind;
      request.bytes = piece;
    }
    WarpRequest& request = requests_[stream.requests[count++]];
    request.lanes |= std::uint32_t{1} << lane;
    request.address[static_cast<std::size_t>(lane)] = part.address;
    request.piece[static_cast<std::size_t>(lane)] = pieces_[static_cast<std::size_t>(lane)]++;
  }
}

WarpRequests::Stream& WarpRequests::stream_of(const Access& access) {
  if (last_ < streams_.size() && same_stream(streams_[last_].first, access)) {
    return streams_[last_];
  }
  for (last_ = 0; last_ < streams_.size(); ++last_) {
    if (same_stream(streams_[last_].first, access)) return streams_[last_];
  }
  streams_.push_back({access, {}, {}});
  return streams_.back();
}

}  // namespace forge::simt
