#include "forge/linear/matrix_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "forge/core/check.h"

namespace forge::linear {
namespace {

std::size_t size(int number) { return static_cast<std::size_t>(number); }

/// `bytes` of each of `rows` rows of an array, which are `stride` bytes apart.
struct Columns {
  const std::byte* from;
  std::size_t rows;
  std::size_t stride;
  std::size_t bytes;
};

/// What a thread reads at a time.
constexpr std::size_t kRunBytes = std::size_t{256} << 10;

/// As columns of rows of kRunBytes: what follows one another may be cut anywhere.
Columns in_runs(const Columns& columns) {
  const std::size_t all = columns.rows * columns.bytes;
  if (columns.bytes != columns.stride || all <= kRunBytes) return columns;
  return {columns.from, (all + kRunBytes - 1) / kRunBytes, kRunBytes, kRunBytes};
}

/// Reads columns to `to`, one row after the other.
tl::expected<void, ReadFault> read_columns(const Columns& columns, const WeightReader& reader,
                                           std::span<std::byte> to, ThreadPool& pool) {
  const Columns runs = in_runs(columns);
  const std::size_t together =
      std::max<std::size_t>(1, kRunBytes / std::max<std::size_t>(1, runs.bytes));
  const std::size_t parts = (runs.rows + together - 1) / together;
  std::vector<std::optional<ReadFault>> faults(parts);
  pool.run(static_cast<int>(parts), [&](int part) {
    const std::size_t first = size(part) * together;
    for (std::size_t row = first; row < std::min(runs.rows, first + together); ++row) {
      const auto rest = to.subspan(row * runs.bytes);
      const auto done =
          reader.read(runs.from + row * runs.stride, rest.first(std::min(runs.bytes, rest.size())));
      if (done) continue;
      faults[size(part)] = done.error();
      return;
    }
  });
  const auto bad = std::ranges::find_if(faults, [](const auto& one) { return one.has_value(); });
  if (bad == faults.end()) return {};
  return tl::unexpected(**bad);
}

}  // namespace

tl::expected<void, ReadFault> MemoryReader::read(const std::byte* from,
                                                 std::span<std::byte> to) const {
  std::memcpy(to.data(), from, to.size());
  return {};
}

std::size_t row_bytes(const StoredLinear& matrix) {
  std::size_t bytes = 0;
  for (const StoredArray& array : arrays_of(matrix)) bytes += array.bytes.size();
  return matrix.outputs == 0 ? 0 : bytes / size(matrix.outputs);
}

/// Makes the form of the rows from that of the whole.
class MatrixRows::Reading {
 public:
  struct Rows {
    const StoredLinear& whole;
    int first;
    int count;
  };

  Reading(MatrixRows& to, const Rows& rows, const WeightReader& reader, ThreadPool& pool)
      : to_(to),
        whole_(rows.whole),
        first_(rows.first),
        count_(rows.count),
        reader_(reader),
        pool_(pool) {}

  StoredRows operator()(const StoredRows& form) {
    return {form.type, rows(form.rows, *quant::bytes_of(form.type, size(whole_.inputs)))};
  }

  StoredInt8 operator()(const StoredInt8& form) {
    return {rows(form.codes, size(whole_.inputs)), form.scales.subspan(size(first_), size(count_))};
  }

  /// A block of scales may begin before the first row: each row gets its own.
  StoredFloat8 operator()(const StoredFloat8& form) {
    const auto blocks = size((whole_.inputs + form.block_columns - 1) / form.block_columns);
    to_.row_scales_.clear();
    for (int row = first_; row < first_ + count_; ++row) {
      const auto of_row = form.scales.subspan(size(row / form.block_rows) * blocks, blocks);
      to_.row_scales_.insert(to_.row_scales_.end(), of_row.begin(), of_row.end());
    }
    return {rows(form.codes, size(whole_.inputs)), to_.row_scales_, 1, form.block_columns};
  }

  StoredGroups operator()(const StoredGroups& form) {
    using Packing = StoredGroups::Packing;
    constexpr std::size_t kWordBytes = 4;
    const int in_word = form.codes_of_word();
    const int groups = whole_.inputs / form.group_size;
    StoredGroups out = form;
    if (form.packing == Packing::rows) {
      out.codes = rows(form.codes, size(whole_.inputs / in_word) * kWordBytes);
    } else if (form.packing == Packing::awq) {
      out.codes = columns({form.codes, size(whole_.inputs), in_word, kWordBytes}, to_.codes_);
    } else {
      out.codes = columns({form.codes, size(whole_.inputs / in_word), 1, kWordBytes}, to_.codes_);
    }
    if (form.zeros != nullptr) {
      out.zeros = columns({form.zeros, size(groups), in_word, kWordBytes}, to_.zeros_);
    }
    out.scales =
        columns({form.scales, size(groups), 1, quant::block_bytes(form.scale_type)}, to_.scales_);
    return out;
  }

  const std::optional<ReadFault>& fault() const { return fault_; }

 private:
  /// An array [rows][N / outputs] of elements that belong to so many outputs each.
  struct Array {
    const std::byte* from;
    std::size_t rows;
    int outputs;
    std::size_t bytes;  // of an element
  };

  /// The rows of an array [N] of rows.
  const std::byte* rows(const std::byte* from, std::size_t bytes) {
    const std::byte* const begin = from + size(first_) * bytes;
    if (reader_.is_in_memory(from)) return begin;
    return read({begin, 1, size(count_) * bytes, size(count_) * bytes}, to_.codes_);
  }

  const std::byte* columns(const Array& array, std::vector<std::byte>& to) {
    const auto elements = [&](int outputs) { return size(outputs / array.outputs) * array.bytes; };
    FORGE_CHECK(first_ % array.outputs == 0 && count_ % array.outputs == 0, "first=", first_,
                " count=", count_, " of words of ", array.outputs);
    return read(
        {array.from + elements(first_), array.rows, elements(whole_.outputs), elements(count_)},
        to);
  }

  const std::byte* read(const Columns& columns, std::vector<std::byte>& to) {
    to.resize(columns.rows * columns.bytes);
    if (fault_) return to.data();
    auto done = read_columns(columns, reader_, to, pool_);
    if (!done) fault_ = done.error();
    return to.data();
  }

  MatrixRows& to_;
  const StoredLinear& whole_;
  const int first_;
  const int count_;
  const WeightReader& reader_;
  ThreadPool& pool_;
  std::optional<ReadFault> fault_;
};

void MatrixRows::give_up(std::vector<std::vector<std::byte>>& arrays,
                         std::vector<std::vector<float>>& row_scales) {
  for (std::vector<std::byte>* array : {&codes_, &zeros_, &scales_}) {
    if (!array->empty()) arrays.push_back(std::exchange(*array, {}));
  }
  if (!row_scales_.empty()) row_scales.push_back(std::exchange(row_scales_, {}));
}

tl::expected<void, ReadFault> MatrixRows::read(const StoredLinear& whole, int first, int count,
                                               const WeightReader& reader, ThreadPool& pool) {
  FORGE_CHECK(first >= 0 && count >= 0 && first + count <= whole.outputs, "rows ", first, " + ",
              count, " of ", whole.outputs);
  Reading reading(*this, {whole, first, count}, reader, pool);
  matrix_ = {count, whole.inputs,
             std::visit([&](const auto& form) -> decltype(matrix_.form) { return reading(form); },
                        whole.form)};
  if (reading.fault()) return tl::unexpected(*reading.fault());
  return {};
}

}  // namespace forge::linear
