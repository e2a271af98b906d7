#include "models/npz/zip.h"

#include <gtest/gtest.h>

#include <cstring>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

class Zip : public testing::Test {
 protected:
  std::string content_of(const ZipEntry& entry, const InputFile& file) const {
    std::string content(static_cast<size_t>(entry.size), '\0');
    ZipEntryReader reader(file, entry);
    // In pieces, as a header and then values would be read.
    const int64_t first = std::min<int64_t>(3, entry.size);
    reader.read(content.data(), first);
    reader.read(content.data() + first, entry.size - first);
    reader.finish();
    return content;
  }
  /// Writes an archive with two entries and returns its bytes.
  std::string two_entries(bool deflated = false) const {
    write_zip(path_, {{"a", {first_}}, {"dir/b", {second_.substr(0, 10), second_.substr(10)}}}, deflated);
    return read_text(path_);
  }
  void expect_refused(const std::string& bytes, const std::string& sentence) const {
    write_text(path_, bytes);
    EXPECT_TAPE_ERROR(read_all(), ErrorKind::format, path_ + ": " + sentence);
  }
  void read_all() const {
    const InputFile file(path_);
    for (const ZipEntry& entry : read_zip_directory(file)) content_of(entry, file);
  }
  /// Overwrites a number `offset` bytes after the nth occurrence of the signature.
  template <class T>
  static std::string with(std::string bytes, std::string_view signature, size_t offset, T number, int nth = 1) {
    size_t at = std::string::npos;
    for (int i = 0; i < nth; ++i) at = bytes.find(signature, at + 1);
    std::memcpy(bytes.data() + at + offset, &number, sizeof number);
    return bytes;
  }

  static constexpr std::string_view first_ = "stored as it is",
                                    second_ = "twelve twelve twelve twelve twelve twelve twelve";
  static constexpr std::string_view local_ = "PK\3\4", directory_ = "PK\1\2", end_ = "PK\5\6";
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "archive.zip";
};

TEST_F(Zip, RoundTripsStoredAndDeflated) {
  for (const bool deflated : {false, true}) {
    const std::string bytes = two_entries(deflated);
    const InputFile file(path_);
    const std::vector<ZipEntry> entries = read_zip_directory(file);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].name, "a");
    EXPECT_EQ(entries[1].name, "dir/b");
    EXPECT_EQ(content_of(entries[0], file), first_);
    EXPECT_EQ(content_of(entries[1], file), second_);
    EXPECT_EQ(bytes, two_entries(deflated)) << "equal contents make equal files";
  }
  write_zip(path_, {}, false);
  EXPECT_TRUE(read_zip_directory(InputFile(path_)).empty());
}

TEST_F(Zip, DeflatesLargeContents) {
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += std::to_string(i * 7919 % 1000);
  write_zip(path_, {{"large", {large}}, {"nothing", {}}}, true);
  const InputFile file(path_);
  const std::vector<ZipEntry> entries = read_zip_directory(file);
  EXPECT_LT(entries[0].stored, entries[0].size / 2);
  EXPECT_TRUE(content_of(entries[0], file) == large);
  EXPECT_EQ(content_of(entries[1], file), "");
}

TEST_F(Zip, ReadsACommentAfterTheDirectory) {
  write_text(path_, with(two_entries(), end_, 20, uint16_t{9}) + "a comment");
  EXPECT_EQ(read_zip_directory(InputFile(path_)).size(), 2u);
}

TEST_F(Zip, RefusesFilesThatAreNotArchives) {
  expect_refused("", "not a zip archive: no end-of-directory record");
  expect_refused("PK\5\6", "not a zip archive: no end-of-directory record");
  const std::string bytes = two_entries();
  for (size_t size = 0; size < bytes.size(); ++size) {
    write_text(path_, bytes.substr(0, size));
    EXPECT_THROW(read_all(), Error) << size;
  }
}

TEST_F(Zip, RefusesBrokenDirectories) {
  const std::string bytes = two_entries();
  const auto at_end = std::to_string(bytes.size() - 22);
  expect_refused(with(bytes, end_, 4, uint16_t{1}), "archives split over several files are not supported");
  expect_refused(with(bytes, end_, 16, uint32_t{7}), "directory of 98 bytes at byte 7 does not end at byte " + at_end);
  expect_refused(with(bytes, end_, 10, uint16_t{50}), "50 entries in a directory of 98 bytes");
  expect_refused(with(bytes, end_, 10, uint16_t{1}), "51 extra bytes in the directory after 1 entries");
  expect_refused(with(bytes, end_, 10, uint16_t{0xFFFF}), "the zip64 end-of-directory locator is missing");
  expect_refused(with(bytes, directory_, 28, uint16_t{300}),
                 "truncated or invalid directory entry, 98 bytes before the end");
  expect_refused(with(bytes, directory_, 0, uint32_t{0}),
                 "truncated or invalid directory entry, 98 bytes before the end");
  expect_refused(with(bytes, directory_, 46, uint8_t{0xFF}), "the name of an entry is not valid UTF-8");
}

TEST_F(Zip, RefusesBrokenEntries) {
  const std::string bytes = two_entries(), packed = two_entries(true);
  expect_refused(with(bytes, directory_, 8, uint16_t{1}), "entry \"a\" is encrypted");
  expect_refused(with(bytes, directory_, 10, uint16_t{12}),
                 "entry \"a\": unsupported compression method 12 (supported: 0, 8)");
  expect_refused(with(bytes, directory_, 24, uint32_t{16}), "entry \"a\": 16 bytes cannot be compressed to 15");
  expect_refused(with(packed, directory_, 24, uint32_t{1 << 30}),
                 "entry \"a\": 1073741824 bytes cannot be compressed to 17");
  expect_refused(with(bytes, directory_, 24, uint32_t{0xFFFFFFFF}), "entry \"a\": missing zip64 values");
  expect_refused(with(bytes, directory_, 42, uint32_t{3}), "entry \"a\": no header at byte 3");
  expect_refused(with(bytes, directory_, 42, static_cast<uint32_t>(bytes.find(directory_))),
                 fmt::format("entry \"a\": truncated header at byte {}", bytes.find(directory_)));
  expect_refused(with(bytes, local_, 30, 'x'), "entry \"a\": the header at byte 0 has another name");
  expect_refused(with(bytes, directory_, 42, uint32_t{0}, 2), "entry \"dir/b\": the header at byte 0 has another name");
  expect_refused(with(bytes, local_, 28, uint16_t{60000}), "entry \"a\": 15 bytes at byte 60031 overlap the directory");
  expect_refused(with(bytes, local_, 31, 'X'), "entry \"a\" has checksum 0ce0e005, the directory has 5ad17865");
}

TEST_F(Zip, RefusesOverlappingEntriesAndDuplicateNames) {
  write_zip(path_, {{"a", {first_}}, {"b", {second_}}}, false);
  const std::string bytes = read_text(path_);
  std::string twice = bytes;
  twice.replace(twice.find(std::string("b") + std::string(second_)), 1, "a");
  twice.replace(twice.rfind(directory_) + 46, 1, "a");
  expect_refused(twice, "duplicate entry \"a\"");
  // The second directory entry points to the data of the first.
  std::string shared = bytes;
  shared.replace(shared.rfind(directory_), 47, shared.substr(shared.find(directory_), 47));
  expect_refused(shared, "entries \"a\" and \"a\" overlap");
}

TEST_F(Zip, RefusesContentsThatCannotBeDecompressed) {
  const std::string packed = two_entries(true);
  const size_t content = packed.find("dir/b") + 5;
  std::string broken = packed;
  broken[content] = '\xFF';
  expect_refused(broken, "entry \"dir/b\" cannot be decompressed after byte 0");
  expect_refused(with(packed, directory_, 24, uint32_t{47}, 2), "entry \"dir/b\" does not end after its 47 bytes");
  expect_refused(with(packed, directory_, 24, uint32_t{49}, 2), "entry \"dir/b\" ends at byte 48 of 49");
}

TEST_F(Zip, RefusesToWriteAnUnreadableArchive) {
  EXPECT_TAPE_ERROR(write_zip(path_, {{"a", {}}, {"a", {}}}, false), ErrorKind::config,
                    path_ + ": duplicate entry \"a\"");
  EXPECT_TAPE_ERROR(write_zip(path_, {{"\xFF", {}}}, false), ErrorKind::config,
                    path_ + ": an entry name is not valid UTF-8 or is longer than 65535 bytes");
  // Repeats the same bytes, so that nothing of that size is allocated or written.
  const std::string part(size_t{1} << 20, '\0');
  const ZipContent large{"large", std::vector<std::string_view>(4096, part)};
  EXPECT_TAPE_ERROR(
      write_zip(path_, {large}, false), ErrorKind::config,
      path_ + ": with \"large\" of 4294967296 bytes the archive would exceed 4 GiB, which is not supported");
}

}  // namespace
}  // namespace tape
