#include "forge/formats/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "forge/formats/json_tree.h"
#include "formats/scratch_folder.h"

namespace forge::formats {
namespace {

using testing::ScratchFolder;

std::string content_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Bytes of the mapping of `path` that are in this process's memory, by /proc/self/smaps.
std::size_t resident_bytes(const std::string& path) {
  std::ifstream in("/proc/self/smaps");
  std::size_t kilobytes = 0;
  bool is_of_path = false;
  for (std::string line; std::getline(in, line);) {
    if (line.find('-') < line.find(' ')) is_of_path = line.ends_with(path);
    if (is_of_path && line.starts_with("Rss:")) kilobytes += std::stoul(line.substr(4));
  }
  return kilobytes * 1024;
}

/// Reads one byte of each page.
void touch(std::span<const std::byte> bytes) {
  volatile std::byte seen{};
  for (std::size_t i = 0; i < bytes.size(); i += 512) seen = bytes[i];
  static_cast<void>(seen);
}

TEST(MappedFile, is_the_files_bytes) {
  const ScratchFolder folder;
  const std::string text = std::string("forge") + '\0' + std::string(10000, 'x');
  const auto file = MappedFile::open(folder.write("some", text)).value();
  EXPECT_EQ(content_of(file), text);
  EXPECT_EQ(file.path(), folder.file("some"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes().data()) % 4096, 0u);
}

TEST(MappedFile, an_empty_file_has_no_bytes) {
  const ScratchFolder folder;
  const auto file = MappedFile::open(folder.write("empty", "")).value();
  EXPECT_TRUE(file.bytes().empty());
  file.will_read(file.bytes());
  file.done_with(file.bytes());
}

TEST(MappedFile, what_is_no_file_is_refused) {
  const ScratchFolder folder;
  const auto outcome = [](const std::string& path) {
    const auto file = MappedFile::open(path);
    return file ? "opened" : to_string(file.error());
  };
  EXPECT_EQ(outcome(folder.file("missing")),
            folder.file("missing") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(outcome(folder.path()), folder.path() + ": is not a regular file");
  EXPECT_EQ(outcome("/dev/zero"), "/dev/zero: is not a regular file");
  std::filesystem::create_symlink("../gone", folder.file("link"));
  EXPECT_EQ(outcome(folder.file("link")),
            folder.file("link") + ": is a link to '../gone', where there is no file");
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(outcome(pipe), pipe + ": is not a regular file") << "and nobody waits for a writer";
}

TEST(MappedFile, of_json_has_a_limit) {
  const ScratchFolder folder;
  const std::string path = folder.write("f", "[1, 2]");
  const auto file = open_json(path, 6);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(text_of(*file), "[1, 2]");
  EXPECT_EQ(to_string(open_json(path, 5).error()), path + ": has 6 bytes; accepted are up to 5");
}

TEST(MappedFile, spans_stay_valid_when_the_owner_moves) {
  const ScratchFolder folder;
  auto first = MappedFile::open(folder.write("first", "first")).value();
  auto second = MappedFile::open(folder.write("second", "the second")).value();
  const std::span<const std::byte> bytes = second.bytes();
  first = std::move(second);
  EXPECT_EQ(first.bytes().data(), bytes.data());
  EXPECT_EQ(content_of(first), "the second");
  EXPECT_EQ(first.path(), folder.file("second"));
  const MappedFile third(std::move(first));
  EXPECT_EQ(third.bytes().data(), bytes.data());
  EXPECT_EQ(content_of(third), "the second");
}

TEST(MappedFile, pages_that_are_done_with_leave_memory_and_come_back) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = 64 * page + 100;
  const ScratchFolder folder;
  const std::string path = folder.write("large", std::string(size, 'x'));
  const auto file = MappedFile::open(path).value();
  touch(file.bytes());
  ASSERT_EQ(resident_bytes(path), 65 * page);

  // Bytes 10 .. 8 pages + 10: of the first and the last page somebody else may have a part.
  file.done_with(file.bytes().subspan(10, 8 * page));
  EXPECT_EQ(resident_bytes(path), (65 - 7) * page);
  file.done_with(file.bytes().subspan(10, page));
  EXPECT_EQ(resident_bytes(path), (65 - 7) * page) << "no whole page";
  file.done_with(file.bytes().subspan(0, 0));
  EXPECT_EQ(resident_bytes(path), (65 - 7) * page);

  file.done_with(file.bytes().subspan(10));
  EXPECT_EQ(resident_bytes(path), page) << "the file's last page has no other part";
  EXPECT_EQ(content_of(file), std::string(size, 'x'));
}

TEST(MappedFile, what_will_be_read_is_as_it_was) {
  const ScratchFolder folder;
  const auto file = MappedFile::open(folder.write("large", std::string(100000, 'x'))).value();
  file.will_read(file.bytes());
  file.will_read(file.bytes().subspan(5000, 17));
  file.will_read(file.bytes().subspan(99999));
  EXPECT_EQ(content_of(file), std::string(100000, 'x'));
}

TEST(MappedFile, a_part_can_be_read_without_touching_the_mapping) {
  const ScratchFolder folder;
  const std::string path = folder.write("some", "0123456789");
  const auto file = MappedFile::open(path).value();
  std::string text(4, ' ');
  ASSERT_TRUE(file.read(file.bytes().subspan(3, 4), std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "3456");
  EXPECT_EQ(resident_bytes(path), 0U);
  EXPECT_TRUE(file.read({}, {}));
}

TEST(MappedFile, reading_what_is_no_longer_there_is_an_error_with_the_place_of_the_end) {
  const ScratchFolder folder;
  const std::string path = folder.write("large", std::string(100000, 'x'));
  const auto file = MappedFile::open(path).value();
  ASSERT_EQ(truncate(path.c_str(), 70000), 0);
  std::vector<std::byte> room(50000);
  ASSERT_TRUE(file.read(file.bytes().first(50000), room));
  const auto read = file.read(file.bytes().last(50000), room);
  ASSERT_FALSE(read);
  EXPECT_EQ(to_string(file.error_of(read.error())),
            path + ": at byte 70000: ends here, and had 100000 bytes when it was opened");
  EXPECT_EQ(to_string(file.error_of({7, EIO})),
            path + ": at byte 7: cannot be read: Input/output error");
}

TEST(MappedFileDeathTest, a_part_of_another_file_is_a_programmers_error) {
  const ScratchFolder folder;
  const auto file = MappedFile::open(folder.write("some", "text")).value();
  const std::byte other{};
  EXPECT_DEATH(file.will_read({&other, 1}), "part of 1 bytes, file of 4");
  EXPECT_DEATH(file.done_with({file.bytes().data() + 3, 2}), "part of 2 bytes, file of 4");
}

}  // namespace
}  // namespace forge::formats
