#include "sector_cache.h"

#include "forge/simt/traffic.h"

namespace forge::simt {

SectorCache::SectorCache(std::uint64_t bytes)
    : lines_max_(bytes < kSectorBytes ? 1 : bytes / kSectorBytes) {}

bool SectorCache::read(const SectorBytes& part) {
  Line& line = touch(part.sector);
  const bool has_all = (part.bytes & ~line.valid) == 0;
  line.valid = has_all ? line.valid : ~std::uint32_t{0};
  return has_all;
}

void SectorCache::write(const SectorBytes& part) {
  Line& line = touch(part.sector);
  line.valid |= part.bytes;
  waiting_ += line.waits ? 0 : 1;
  line.waits = true;
}

SectorCache::Line& SectorCache::touch(std::uintptr_t sector) {
  const auto found = where_.find(sector);
  if (found != where_.end()) {
    lines_.splice(lines_.begin(), lines_, found->second);
    return lines_.front();
  }
  if (lines_.size() == lines_max_) {
    const Line& oldest = lines_.back();
    written_back_ += oldest.waits ? 1 : 0;
    waiting_ -= oldest.waits ? 1 : 0;
    where_.erase(oldest.sector);
    lines_.pop_back();
  }
  lines_.push_front({sector, 0, false});
  where_.emplace(sector, lines_.begin());
  return lines_.front();
}

}  // namespace forge::simt
