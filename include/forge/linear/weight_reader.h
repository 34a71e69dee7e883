// WeightReader: how the bytes of stored matrices come into memory.
//
// A StoredLinear says where its arrays are. Those of a model that was made in memory can be read
// there. Those of a checkpoint lie in mapped files: whoever touches a page that is no longer there,
// since the file has become shorter or its disk is gone, is ended by the system. So code that walks
// through all weights reads them, a few MiB at a time (matrix_rows.h), and gets an error.
//
// Thread contract: is_in_memory() and read() from several threads at a time; the others from one.
#pragma once

#include <cstddef>
#include <span>
#include <tl/expected.hpp>

#include "forge/linear/stored_linear.h"

namespace forge::linear {

/// Bytes that could not be read.
struct ReadFault {
  const std::byte* at = nullptr;  ///< where StoredLinear has the first of them
  int code = 0;                   ///< why, by errno; 0: the file ends there
};

class WeightReader {
 public:
  WeightReader() = default;
  WeightReader(const WeightReader&) = delete;
  WeightReader& operator=(const WeightReader&) = delete;
  virtual ~WeightReader() = default;

  /// Whether the array that begins at `from` can be read where it is.
  virtual bool is_in_memory(const std::byte* from) const = 0;

  /// Copies the bytes at `from`, all of one array, to `to`.
  virtual tl::expected<void, ReadFault> read(const std::byte* from,
                                             std::span<std::byte> to) const = 0;

  /// `matrix` will be read soon; or not again, so that what it takes can be given back.
  virtual void will_read(const StoredLinear& /*matrix*/) {}
  virtual void done_with(const StoredLinear& /*matrix*/) {}
};

/// Reads matrices that were made in memory.
class MemoryReader final : public WeightReader {
 public:
  bool is_in_memory(const std::byte* /*from*/) const override { return true; }
  tl::expected<void, ReadFault> read(const std::byte* from, std::span<std::byte> to) const override;
};

}  // namespace forge::linear
