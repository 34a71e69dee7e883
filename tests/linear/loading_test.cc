// Weights that have to be read, and panels that go to somebody else's memory: both as in memory.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "code_layers.h"
#include "float_layers.h"
#include "forge/linear/linear_weights.h"
#include "forge/linear/matrix_rows.h"

namespace forge::linear {
namespace {

/// Says of no array that it is in memory, and fails where it is told to.
class StrangeReader final : public WeightReader {
 public:
  explicit StrangeReader(const std::byte* fails_at = nullptr) : fails_at_(fails_at) {}

  bool is_in_memory(const std::byte* /*from*/) const override { return false; }
  tl::expected<void, ReadFault> read(const std::byte* from,
                                     std::span<std::byte> to) const override {
    if (fails_at_ >= from && fails_at_ < from + to.size()) {
      return tl::unexpected(ReadFault{fails_at_, EIO});
    }
    return MemoryReader().read(from, to);
  }

 private:
  const std::byte* fails_at_;
};

/// Memory with rooms of `room_bytes`; remembers how it was used.
class TestStore final : public PanelStore {
 public:
  explicit TestStore(std::size_t room_bytes) : room_bytes_(room_bytes) {}

  void reserve(std::size_t bytes) override { reserved_ += bytes; }
  const std::byte* place(std::size_t bytes) override {
    at_ = 0;
    return places_.emplace_back(bytes).data();
  }
  std::size_t room_bytes() const override { return room_bytes_; }
  bool has_failed() const override { return false; }
  std::byte* room(std::size_t bytes) override {
    EXPECT_LE(bytes, room_bytes_);
    room_.assign(bytes, std::byte{0xa5});
    ++rooms_;
    return room_.data();
  }
  void put() override {
    ASSERT_LE(at_ + room_.size(), places_.back().size());
    std::memcpy(places_.back().data() + at_, room_.data(), room_.size());
    at_ += room_.size();
    room_.assign(room_.size(), std::byte{0x5a});
  }

  std::size_t rooms() const { return rooms_; }
  bool is_full() const { return at_ == places_.back().size(); }

 private:
  std::size_t room_bytes_;
  std::size_t reserved_ = 0;
  std::vector<std::vector<std::byte>> places_;
  std::vector<std::byte> room_;
  std::size_t at_ = 0;
  std::size_t rooms_ = 0;
};

std::vector<std::byte> panels_of(const LinearWeights& weights) {
  std::vector<std::byte> all;
  for (const Section& section : weights.sections()) {
    const auto count = static_cast<std::size_t>(section.panel_count());
    all.insert(all.end(), section.panels, section.panels + count * section.panel_bytes);
  }
  return all;
}

std::vector<float> numbers_of(const StoredLinear& matrix, int row) {
  std::vector<float> out(static_cast<std::size_t>(matrix.inputs));
  stored_row(matrix, row, out.data());
  return out;
}

/// Layers of all forms, with more outputs than one run of 256 KiB has of some.
std::vector<std::unique_ptr<CodeLayer>> layers_of_codes() {
  std::vector<std::unique_ptr<CodeLayer>> layers;
  for (const Form form : kForms) {
    layers.push_back(code_layer({.form = form, .outputs = 72, .inputs = 512, .seed = 3}));
  }
  layers.push_back(code_layer({.form = Form::q8_0, .outputs = 1200, .inputs = 512, .seed = 4}));
  layers.push_back(code_layer({.form = Form::awq, .outputs = 1200, .inputs = 2048, .seed = 5}));
  return layers;
}

TEST(MatrixRows, are_the_rows_of_the_whole_in_every_form) {
  const StrangeReader strange;
  const MemoryReader memory;
  ThreadPool pool(2);
  for (const auto& layer : layers_of_codes()) {
    for (const WeightReader* reader :
         {static_cast<const WeightReader*>(&strange), static_cast<const WeightReader*>(&memory)}) {
      MatrixRows rows;
      for (const auto& [first, count] : {std::pair{0, 72}, {64, 8}, {8, 16}, {0, 0}}) {
        ASSERT_TRUE(rows.read(layer->linear, first, count, *reader, pool));
        ASSERT_EQ(rows.matrix().outputs, count);
        for (int row = 0; row < count; ++row) {
          ASSERT_EQ(numbers_of(rows.matrix(), row), numbers_of(layer->linear, first + row));
        }
      }
    }
  }
}

TEST(MatrixRows, of_floats_of_8_bits_have_their_scales_wherever_their_blocks_begin) {
  const quant::Bytes codes = quant::random_bytes(48 * 40, 7);
  std::vector<float> scales;
  for (int i = 0; i < 5 * 3; ++i) scales.push_back(1.0F + static_cast<float>(i));
  const StoredLinear whole{48, 40, StoredFloat8{codes.data(), scales, 10, 16}};
  ThreadPool pool(1);
  MatrixRows rows;
  for (const int first : {0, 7, 32}) {
    ASSERT_TRUE(rows.read(whole, first, 16, StrangeReader(), pool));
    for (int row = 0; row < 16; ++row) {
      for (int k = 0; k < 40; ++k) {
        const float there = numbers_of(whole, first + row)[static_cast<std::size_t>(k)];
        const float here = numbers_of(rows.matrix(), row)[static_cast<std::size_t>(k)];
        ASSERT_TRUE(here == there || (std::isnan(here) && std::isnan(there)));
      }
    }
  }
}

TEST(MatrixRows, a_fault_is_that_of_the_first_byte_that_cannot_be_read) {
  ThreadPool pool(2);
  for (const auto& layer : layers_of_codes()) {
    const std::byte* const last = &layer->codes.back();
    MatrixRows rows;
    const StrangeReader reader(last);
    const auto read = rows.read(layer->linear, 0, layer->linear.outputs, reader, pool);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().at, last);
    EXPECT_EQ(read.error().code, EIO);
    EXPECT_FALSE(LinearWeights::load(std::span(&layer->linear, 1), pool, {.reader = &reader}));
  }
}

TEST(MatrixRowsDeathTest, half_a_word_is_no_row) {
  const auto layer = code_layer({.form = Form::awq, .outputs = 72, .inputs = 512});
  ThreadPool pool(1);
  MatrixRows rows;
  const MemoryReader memory;
  EXPECT_DEATH(static_cast<void>(rows.read(layer->linear, 4, 8, memory, pool)),
               "first=4 count=8 of words of 8");
  EXPECT_DEATH(static_cast<void>(rows.read(layer->linear, 64, 16, memory, pool)),
               "rows 64 \\+ 16 of 72");
}

TEST(Loading, panels_that_are_read_are_those_of_memory) {
  const StrangeReader reader;
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    for (const auto& layer : layers_of_codes()) {
      const StoredLinear parts[] = {layer->linear, layer->linear};  // panels with rows of both
      const auto loaded = LinearWeights::load(parts, pool, {.reader = &reader});
      ASSERT_TRUE(loaded);
      EXPECT_EQ(panels_of(*loaded), panels_of(LinearWeights(parts, pool)));
      EXPECT_TRUE(loaded->is_finite());
    }
  }
}

TEST(Loading, panels_go_through_rooms_to_their_places) {
  StoredParts layer(200);
  layer.add(quant::WeightType::bf16, 300).add(quant::WeightType::f32, 70);
  layer.add(quant::WeightType::bf16, 33);
  ThreadPool pool(2);
  const LinearWeights here(layer.parts(), pool);
  const std::size_t largest = here.sections()[1].panel_bytes;
  for (const std::size_t room : {largest, 2 * largest, 100 * largest}) {
    TestStore store(room);
    const auto there = LinearWeights::load(layer.parts(), pool, {.store = &store});
    ASSERT_TRUE(there);
    EXPECT_EQ(panels_of(*there), panels_of(here));
    EXPECT_TRUE(store.is_full());
    EXPECT_EQ(store.rooms() > 3, room < 100 * largest);
  }
}

TEST(Loading, widened_panels_have_the_numbers_as_floats) {
  ThreadPool pool(2);
  for (const auto& layer : layers_of_codes()) {
    const auto wide = LinearWeights::load(std::span(&layer->linear, 1), pool, {.widen = true});
    ASSERT_TRUE(wide);
    ASSERT_EQ(wide->sections().size(), 1U);
    ASSERT_EQ(wide->sections()[0].kind, PanelKind::f32);
    const auto inputs = static_cast<std::size_t>(layer->linear.inputs);
    for (const int row : {0, 33, layer->linear.outputs - 1}) {
      const std::vector<float> numbers = numbers_of(layer->linear, row);
      const std::byte* const panel =
          wide->sections()[0].panels +
          static_cast<std::size_t>(row / 32) * wide->sections()[0].panel_bytes;
      for (std::size_t k = 0; k < inputs; ++k) {
        float number;
        std::memcpy(&number, panel + (k * 32 + static_cast<std::size_t>(row % 32)) * 4, 4);
        ASSERT_EQ(number, numbers[k]);
      }
    }
  }
}

TEST(Loading, a_layout_is_what_packing_gives_without_the_panels) {
  ThreadPool pool(1);
  for (const auto& layer : layers_of_codes()) {
    const LinearWeights layout = LinearWeights::layout(std::span(&layer->linear, 1));
    const LinearWeights packed(std::span(&layer->linear, 1), pool);
    EXPECT_EQ(layout.bytes(), packed.bytes());
    ASSERT_EQ(layout.sections().size(), packed.sections().size());
    EXPECT_EQ(layout.sections()[0].kind, packed.sections()[0].kind);
    EXPECT_EQ(layout.sections()[0].panels, nullptr);
    EXPECT_TRUE(std::ranges::equal(layout.sections()[0].order, packed.sections()[0].order));
  }
}

}  // namespace
}  // namespace forge::linear
