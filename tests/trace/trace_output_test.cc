// Where a trace goes: which files are taken, and what is left of one that cannot be written.
#include "forge/trace/trace_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "forge/trace/replay.h"
#include "formats/scratch_folder.h"
#include "trace/recorded_run.h"

namespace forge::trace {
namespace {

namespace fs = std::filesystem;

/// Files of this process are at most so long, as on a disk that fills up in the middle of a write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class TraceFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string refusal(const std::string& file) {
    const auto created = TraceFile::create(file);
    return created ? "none" : created.error();
  }

 private:
  formats::testing::ScratchFolder folder_;
};

std::string line_of(std::size_t bytes) { return std::string(bytes - 1, 'x') + '\n'; }

TEST_F(TraceFileTest, a_file_that_is_new_or_empty_is_written) {
  put("empty", "");
  for (const char* name : {"new", "empty"}) {
    const auto file = TraceFile::create(path(name)).value();
    EXPECT_TRUE(file->write("a\n"));
    EXPECT_TRUE(file->write("b\n"));
    EXPECT_TRUE(file->flush());
    EXPECT_EQ(text(name), "a\nb\n");
  }
}

TEST_F(TraceFileTest, a_new_file_is_its_owners_alone) {
  const std::string file = path("new");
  ASSERT_TRUE(TraceFile::create(file));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(TraceFileTest, a_file_with_something_in_it_is_refused_and_left_alone) {
  put("kept", "of a crash\n");
  EXPECT_EQ(refusal(path("kept")), "'" + path("kept") +
                                       "' exists and is not overwritten: name another file or "
                                       "remove it");
  fs::create_symlink(path("kept"), path("link"));
  EXPECT_NE(refusal(path("link")), "none");
  EXPECT_EQ(text("kept"), "of a crash\n");
}

TEST_F(TraceFileTest, of_two_that_want_one_file_one_gets_it) {
  for (const bool created_before : {false, true}) {
    fs::remove(path("t"));
    if (created_before) put("t", "");
    auto first = TraceFile::create(path("t")).value();
    EXPECT_EQ(refusal(path("t")),
              "another program is recording into '" + path("t") + "': name another file");
    first.reset();
    EXPECT_EQ(refusal(path("t")), "none") << "nothing has been written to it";
  }
}

TEST_F(TraceFileTest, what_cannot_be_opened_is_named_with_the_systems_reason) {
  EXPECT_EQ(refusal(path("no/folder")),
            "cannot write '" + path("no/folder") + "': No such file or directory");
  fs::create_directory(path("folder"));
  EXPECT_EQ(refusal(path("folder")), "cannot write '" + path("folder") + "': Is a directory");
}

TEST_F(TraceFileTest, devices_and_pipes_are_written_though_they_exist) {
  const auto null = TraceFile::create("/dev/null").value();
  EXPECT_TRUE(null->write("a\n"));
  EXPECT_TRUE(null->flush());
  EXPECT_EQ(refusal("/dev/null"), "none") << "and by many";

  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  const auto pipe = TraceFile::create(path("pipe")).value();
  EXPECT_TRUE(pipe->write("a\n"));
  EXPECT_TRUE(pipe->flush());
  char byte = 0;
  EXPECT_EQ(read(reader, &byte, 1), 1);
  EXPECT_EQ(byte, 'a');
  close(reader);
}

TEST_F(TraceFileTest, a_full_disk_is_told_in_the_call_that_meets_it_and_only_once) {
  std::string told;
  const auto file =
      TraceFile::create("/dev/full", [&](const std::string& reason) { told += reason; }).value();
  EXPECT_TRUE(file->write("kept until flush()\n"));
  EXPECT_EQ(told, "");
  const auto flushed = file->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error(), "No space left on device");
  EXPECT_EQ(told, "No space left on device");
}

TEST_F(TraceFileTest, a_buffer_that_is_full_is_written_without_a_flush) {
  std::string told;
  const auto file =
      TraceFile::create("/dev/full", [&](const std::string& reason) { told = reason; }).value();
  std::size_t bytes = 0;
  while (file->write(line_of(1000))) bytes += 1000;
  EXPECT_LT(bytes, TraceFile::kBufferBytes);
  EXPECT_EQ(told, "No space left on device");
}

TEST_F(TraceFileTest, a_write_of_which_a_part_fits_leaves_the_whole_lines) {
  const auto file = TraceFile::create(path("t")).value();
  {
    const FileSizeLimit limit(1000);
    EXPECT_TRUE(file->write(line_of(100)));
    EXPECT_TRUE(file->flush());
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(file->write(line_of(250)));
    const auto flushed = file->flush();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error(), "File too large");
  }
  EXPECT_EQ(text("t"), line_of(100) + line_of(250) + line_of(250) + line_of(250));
}

TEST_F(TraceFileTest, a_line_of_which_a_part_fits_is_cut_off) {
  const auto file = TraceFile::create(path("t")).value();
  {
    const FileSizeLimit limit(1000);
    EXPECT_TRUE(file->write(line_of(900)));
    EXPECT_TRUE(file->flush());
    EXPECT_TRUE(file->write(line_of(900)));
    EXPECT_FALSE(file->flush());
  }
  EXPECT_EQ(text("t"), line_of(900));
}

/// The whole lines among the first bytes of a text.
std::string whole_lines(const std::string& text, std::size_t bytes) {
  return text.substr(0, text.substr(0, bytes).rfind('\n') + 1);
}

TEST_F(TraceFileTest, a_disk_that_is_full_at_any_byte_has_all_that_fitted_and_replays) {
  const std::string whole = testing::small_trace();
  const std::vector<std::string> lines = testing::lines_of(whole);
  for (const bool flushes : {true, false}) {  // as a server does; as a bench
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      fs::remove(path("t"));
      const auto file = TraceFile::create(path("t")).value();
      bool is_written = true;
      {
        const FileSizeLimit limit(bytes);
        for (std::size_t i = 0; i < lines.size() && is_written; ++i) {
          is_written = file->write(lines[i] + "\n") && (!flushes || file->flush());
        }
        is_written = is_written && file->flush();
      }
      ASSERT_EQ(is_written, bytes == whole.size()) << bytes;
      ASSERT_EQ(text("t"), whole_lines(whole, bytes)) << bytes;
    }
  }
  for (std::size_t bytes = lines[0].size() + 1; bytes <= whole.size(); bytes += 7) {
    std::istringstream in(whole_lines(whole, bytes));
    auto reader = TraceReader::open(in).value();
    const auto report = replay_plans(reader);
    ASSERT_TRUE(report && !report->difference) << bytes;
  }
}

}  // namespace
}  // namespace forge::trace
