// A reader of matrices in memory that tells of each when it will be read and when not again.
#pragma once

#include <functional>
#include <utility>

#include "forge/linear/weight_reader.h"

namespace forge::testing {

class ToldReader final : public linear::WeightReader {
 public:
  using Tell = std::function<void(const linear::StoredLinear&)>;

  explicit ToldReader(Tell will_read, Tell done_with = {})
      : will_read_(std::move(will_read)), done_with_(std::move(done_with)) {}

  bool is_in_memory(const std::byte* /*from*/) const override { return true; }
  tl::expected<void, linear::ReadFault> read(const std::byte* from,
                                             std::span<std::byte> to) const override {
    return linear::MemoryReader().read(from, to);
  }
  void will_read(const linear::StoredLinear& matrix) override {
    if (will_read_) will_read_(matrix);
  }
  void done_with(const linear::StoredLinear& matrix) override {
    if (done_with_) done_with_(matrix);
  }

 private:
  Tell will_read_;
  Tell done_with_;
};

}  // namespace forge::testing
