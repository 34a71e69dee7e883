// Which files a bounded recording has, and when it ends.
#include "forge/trace/trace_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "formats/scratch_folder.h"

namespace forge::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BoundedRecording : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::unique_ptr<TraceFiles> create(const TraceLimits& limits,
                                     const std::string& name = "run.jsonl") {
    auto made = TraceFiles::create(path(name), limits,
                                   [this](const std::string& reason) { reason_ = reason; });
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error());
    return *std::move(made);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file(""))) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name) const { std::ofstream(path(name)) << "another's\n"; }

  /// Header, snapshot and lines of ten bytes until it is full.
  static void fill(TraceFiles& files) {
    while (!files.is_full()) ASSERT_TRUE(files.write("123456789\n"));
  }

  std::string reason_;

 private:
  formats::testing::ScratchFolder folder_;
};

TEST_F(BoundedRecording, without_a_size_is_the_file_that_was_named) {
  const auto files = create({});
  ASSERT_TRUE(files->write("a\n"));
  ASSERT_TRUE(files->flush());
  EXPECT_FALSE(files->has_next());
  EXPECT_FALSE(files->is_full());
  EXPECT_THAT(names(), ElementsAre("run.jsonl"));
  EXPECT_EQ(text("run.jsonl"), "a\n");
}

TEST_F(BoundedRecording, goes_on_in_the_next_number_when_a_file_is_full) {
  const auto files = create({.file_bytes = 100});
  for (int i = 0; i < 3; ++i) {
    fill(*files);
    ASSERT_TRUE(files->next());
  }
  ASSERT_TRUE(files->flush());
  EXPECT_THAT(names(), ElementsAre("run.000001.jsonl", "run.000002.jsonl", "run.000003.jsonl",
                                   "run.000004.jsonl"));
  EXPECT_EQ(text("run.000001.jsonl").size(), 100U);
  EXPECT_EQ(text("run.000003.jsonl").size(), 100U);
}

TEST_F(BoundedRecording, is_not_full_before_its_steps_have_the_bytes_of_its_snapshot) {
  const auto files = create({.file_bytes = 100});
  ASSERT_TRUE(files->write("header\n"));
  ASSERT_TRUE(files->write(std::string(992, 's') + "\n"));
  EXPECT_FALSE(files->is_full()) << "1000 bytes, all of them of the snapshot";
  fill(*files);
  ASSERT_TRUE(files->flush());
  EXPECT_EQ(text("run.000001.jsonl").size(), 2000U);
}

TEST_F(BoundedRecording, removes_the_oldest_of_its_own_files_alone) {
  put("run.000001.jsonl");
  put("run.000007.jsonl");
  put("run.000009.jsonl.old");
  put("other.000099.jsonl");
  const auto files = create({.file_bytes = 100, .keep = 2});
  for (int i = 0; i < 4; ++i) {
    fill(*files);
    ASSERT_TRUE(files->next());
  }
  EXPECT_THAT(names(), ElementsAre("other.000099.jsonl", "run.000001.jsonl", "run.000007.jsonl",
                                   "run.000009.jsonl.old", "run.000011.jsonl", "run.000012.jsonl"));
  EXPECT_EQ(text("run.000001.jsonl"), "another's\n");
}

TEST_F(BoundedRecording, leaves_what_somebody_has_put_in_the_place_of_its_file) {
  const auto files = create({.file_bytes = 100, .keep = 1});
  fill(*files);
  std::filesystem::rename(path("run.000001.jsonl"), path("kept"));
  put("run.000001.jsonl");
  ASSERT_TRUE(files->next());
  EXPECT_THAT(names(), ElementsAre("kept", "run.000001.jsonl", "run.000002.jsonl"));
}

TEST_F(BoundedRecording, ends_with_a_whole_line_when_its_files_have_all_they_may_have) {
  const auto files = create({.file_bytes = 100, .total_bytes = 255});
  for (int i = 0; i < 2; ++i) {
    fill(*files);
    ASSERT_TRUE(files->next());
  }
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(files->write("123456789\n"));
  const auto refused = files->write("123456789\n");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("limit of 255 bytes"));
  EXPECT_EQ(reason_, refused.error());
  EXPECT_EQ(text("run.000003.jsonl").size(), 50U);
}

TEST_F(BoundedRecording, what_was_removed_counts_no_more) {
  const auto files = create({.file_bytes = 100, .keep = 2, .total_bytes = 250});
  for (int i = 0; i < 20; ++i) {
    fill(*files);
    ASSERT_TRUE(files->next());
  }
  EXPECT_EQ(reason_, "");
}

TEST_F(BoundedRecording, ends_where_the_next_file_cannot_be_made) {
  std::filesystem::create_directory(path("folder"));
  const auto files = create({.file_bytes = 100}, "folder/run.jsonl");
  fill(*files);
  std::filesystem::rename(path("folder"), path("moved"));
  const auto next = files->next();
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error(), HasSubstr("cannot write"));
  EXPECT_EQ(reason_, next.error());
  EXPECT_EQ(text("moved/run.000001.jsonl").size(), 100U) << "what was recorded is there";
}

}  // namespace
}  // namespace forge::trace
