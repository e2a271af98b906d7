#include "autograd/io/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "autograd/create.h"
#include "autograd/io/npy_header.h"
#include "base/file.h"
#include "models/npz/npz.h"
#include "models/npz/zip.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

// NumPy's own files are in tests/fixtures/numpy (written by tests/fixtures/make_numpy.py).

namespace tape {
namespace {

namespace fs = std::filesystem;

class Npy : public testing::Test {
 protected:
  /// A file with this header dictionary and this many bytes of values.
  void write_npy(const std::string& dictionary, size_t data, char version = 1) const {
    std::string bytes = std::string("\x93NUMPY") + version + '\0';
    const auto length = static_cast<uint32_t>(dictionary.size());
    bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
    write_text(path_, bytes + dictionary + std::string(data, '\1'));
  }
  void expect_refused(const std::string& dictionary, size_t data, const std::string& sentence,
                      ErrorKind kind = ErrorKind::format) const {
    write_npy(dictionary, data);
    EXPECT_TAPE_ERROR(load_npy(path_), kind, path_ + ": " + sentence);
  }
  void expect_file_refused(const std::string& bytes, const std::string& sentence) const {
    write_text(path_, bytes);
    EXPECT_TAPE_ERROR(load_npy(path_), ErrorKind::format, path_ + ": " + sentence);
  }

  const std::map<std::string, Tensor> every_{{"f32", tensor({{1, -2.5, 3}, {NAN, INFINITY, -0.0}})},
                                             {"f64", tensor({1e300, std::numeric_limits<double>::denorm_min()}, f64)},
                                             {"f16", tensor({0.1, -65504, INFINITY}, f16)},
                                             {"bf16", tensor({{0.1}, {-3e38}}, bf16)},
                                             {"i64", from_vector<int64_t>({INT64_MIN, -1, INT64_MAX})},
                                             {"i32", from_vector<int32_t>({INT32_MIN, -1, INT32_MAX})},
                                             {"u8", tensor({0, 255, 7}, u8)},
                                             {"bool", tensor({1, 0, 1}, boolean)},
                                             {"scalar", scalar(7)},
                                             {"empty", zeros({2, 0, 3}, f64)},
                                             {"a \"name\"/\xC3\xA9", ones({1, 2, 3, 1, 1, 1, 1, 1})}};
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "m.npy", archive_ = folder_ / "m.npz";
};

TEST_F(Npy, RoundTripsEveryDtypeAndShape) {
  for (const auto& [name, tensor] : every_) {
    save_npy(path_, tensor);
    EXPECT_TRUE(tensors_equal(load_npy(path_), tensor)) << name;
    EXPECT_EQ((read_text(path_).size() - static_cast<size_t>(tensor.numel() * size_of(tensor.dtype()))) % 64, 0u);
  }
}

TEST_F(Npy, RoundTripsArchives) {
  for (const bool compressed : {false, true}) {
    save_npz(archive_, every_, {.compressed = compressed});
    const auto loaded = load_npz(archive_);
    ASSERT_EQ(loaded.size(), every_.size());
    for (const auto& [name, tensor] : every_) EXPECT_TRUE(tensors_equal(loaded.at(name), tensor)) << name;
  }
  save_npz(archive_, {{"zeros", zeros({100, 100})}}, {.compressed = true});
  EXPECT_LT(fs::file_size(archive_), 1000u);
  save_npz(archive_, {});
  EXPECT_TRUE(load_npz(archive_).empty());
}

TEST_F(Npy, ReadsFilesWrittenByNumPy) {
  int64_t seen = 0;
  for (const auto& [name, tensor] : fixture_tensors("numpy")) {
    EXPECT_TRUE(tensors_equal(load_npy(fixture_path("numpy/" + name + ".npy")), tensor)) << name;
    ++seen;
  }
  EXPECT_EQ(seen, 22);
  for (const std::string archive : {"stored", "deflated", "zip64"}) {
    const auto tensors = load_npz(fixture_path("numpy/" + archive + ".npz"));
    EXPECT_EQ(tensors.size(), 20u);
    for (const auto& [name, tensor] : tensors)
      EXPECT_TRUE(tensors_equal(tensor, fixture_tensors("numpy").at(name))) << archive << ": " << name;
  }
}

TEST_F(Npy, WritesTheSameBytesAsNumPy) {
  // NumPy omits the comma and space after the last size, and the space after the last entry.
  save_npy(path_, fixture_tensors("numpy").at("f32"));
  const std::string ours = read_text(path_), theirs = read_text(fixture_path("numpy/f32.npy"));
  EXPECT_EQ(ours.size(), theirs.size());
  EXPECT_EQ(ours.substr(0, 10), theirs.substr(0, 10));
  EXPECT_EQ(ours.substr(128), theirs.substr(128));
  EXPECT_EQ(ours.substr(10, 61), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, ), }");
}

TEST_F(Npy, RefusesNumPyFilesOfUnsupportedTypes) {
  const auto refused = [](const std::string& name, ErrorKind kind, const std::string& sentence) {
    const std::string path = fixture_path("numpy/" + name + ".npy");
    EXPECT_TAPE_ERROR(load_npy(path), kind, path + ": " + sentence);
  };
  refused("object", ErrorKind::dtype,
          "header: arrays of Python objects are pickles, which can run code, and are not read");
  refused("complex", ErrorKind::dtype,
          "header: descr \"<c8\" is not supported (f2, f4, f8, i1 to i8, u1 to u8, b1 and V2 are)");
  refused("records", ErrorKind::dtype, "header: structured arrays are not supported: descr is a list of fields");
  refused("large_u8", ErrorKind::format, "u8 value 9223372036854775808 does not fit i64");
}

TEST_F(Npy, RefusesFilesOfOtherFormats) {
  const std::string npy = "\x93NUMPY";
  expect_file_refused("", "header too small (0 bytes)");
  expect_file_refused("\x93NUM", "header too small (4 bytes)");
  expect_file_refused("PK\3\4 and so on", "not a .npy file: it does not begin with \\x93NUMPY");
  expect_file_refused(npy + std::string("\x04\0\x02\0{}", 6),
                      "format version 4.0 is not supported (1.0, 2.0 and 3.0 are)");
  expect_file_refused(npy + std::string("\x01\x01\x02\0{}", 6),
                      "format version 1.1 is not supported (1.0, 2.0 and 3.0 are)");
  expect_file_refused(npy + std::string("\x01\0\x00\0", 4), "header: expected '{', found \"\"");
  expect_file_refused(npy + std::string("\x01\0\x00\0{}", 6), "header too small (10 bytes)");
  expect_file_refused(npy + std::string("\x02\0\x02\0\0", 5), "header too small (11 bytes)");
  expect_file_refused(npy + std::string("\x01\0\x03\0{}", 6),
                      "header length 3, but the file has 12 bytes (and a header at most 65535)");
  expect_file_refused(npy + std::string("\x02\0\0\0\1\0", 6) + std::string(65536, ' '),
                      "header length 65536, but the file has 65548 bytes (and a header at most 65535)");
  // A header as long as one may be, and as the file has room for.
  std::string longest = "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }";
  longest.resize(65535, ' ');
  write_text(folder_ / "longest.npy", npy + std::string("\x02\0\xFF\xFF\0\0", 6) + longest);
  EXPECT_EQ(load_npy(folder_ / "longest.npy").shape(), Shape({0}));
  EXPECT_TAPE_ERROR(load_npy(folder_ / "none"), ErrorKind::io,
                    folder_ / "none" + std::string(": cannot open: No such file or directory"));
}

TEST_F(Npy, RefusesBrokenHeaders) {
  expect_refused("[1, 2]", 0, "header: expected '{', found \"[1, 2]\"");
  expect_refused("{'descr': '<f4'", 0, "header: expected '}', found \"\"");
  expect_refused("{'descr': __import__('os'), }", 0, "header: expected a string, found \"__import__('os'), }\"");
  expect_refused("{'descr': '<f4, }", 0, "header: expected a string, found \"'<f4, }\"");
  expect_refused("{'descr': ~ \x1F\x7F}", 0, "header: expected a string, found \"~ ??}\"");
  expect_refused("{'descr': '<f4', 'descr': '<f4'}", 0, "header: descr appears twice");
  expect_refused("{'descr': '<f4', 'names': ()}", 0, "header: unknown key \"names\"");
  expect_refused("{'': '<f4'}", 0, "header: unknown key \"\"");
  expect_refused("{'fortran_order': True, 'shape': ()}", 0, "header: descr is missing");
  expect_refused("{'descr': '<f4', 'shape': ()}", 0, "header: fortran_order is missing");
  expect_refused("{'descr': '<f4', 'fortran_order': False}", 0, "header: shape is missing");
  expect_refused("{'descr': '<f4', 'fortran_order': 1}", 0, "header: expected 'False', found \"1}\"");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 0, "header: 1 bytes after the dictionary");
  expect_refused("{'descr': '\n\xFF', 'fortran_order': False, 'shape': ()}", 0,
                 "header: descr \"\?\?\" is not supported (f2, f4, f8, i1 to i8, u1 to u8, b1 and V2 are)",
                 ErrorKind::dtype);
}

TEST_F(Npy, RefusesShapesThatDoNotFitTheFile) {
  const auto of = [](const std::string& shape) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}";
  };
  expect_refused(of("(2,)"), 7, "[2] of f4 needs 8 bytes after the header, there are 7");
  expect_refused(of("(2,)"), 9, "[2] of f4 needs 8 bytes after the header, there are 9");
  expect_refused(of("(-1,)"), 4, "header: shape contains \"-1,)}\", which is not a size");
  expect_refused(of("(1.5,)"), 4, "header: expected ')', found \".5,)}\"");
  expect_refused(of("(18446744073709551616,)"), 4,
                 "header: shape contains \"18446744073709551616,)}\", which is not a size");
  expect_refused(of("(4194305, 4194305, 211106198978564)"), 16,
                 "header: shape (4194305, 4194305, 211106198978564) overflows");
  expect_refused(of("(1, 1, 1, 1, 1, 1, 1, 1, 4)"), 16, "header: shape has more than 8 axes");
  write_npy(of("(2305843009213693952,)"), 0);
  EXPECT_THROW(load_npy(path_), Error);
}

TEST_F(Npy, RefusesBoolsOtherThanZeroAndOne) {
  write_npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", 1);
  EXPECT_TRUE(tensors_equal(load_npy(path_), tensor({1}, boolean)));
  std::string bytes = read_text(path_);
  bytes.back() = '\2';
  expect_file_refused(bytes, "a bool must be 0 or 1, found 2");
}

TEST_F(Npy, RefusesArchivesWithOtherEntries) {
  write_zip(archive_, {{"notes.txt", {"text"}}}, false);
  EXPECT_TAPE_ERROR(load_npz(archive_), ErrorKind::format, archive_ + ": entry \"notes.txt\" is not an array (.npy)");
  write_zip(archive_, {{"a.npy", {"text"}}}, true);
  EXPECT_TAPE_ERROR(load_npz(archive_), ErrorKind::format,
                    archive_ + ": \"a\": not a .npy file: it does not begin with \\x93NUMPY");
  save_npz(archive_, {{"w", ones({4})}});
  std::string bytes = read_text(archive_);
  bytes[bytes.find("PK\1\2") - 1] ^= 1;
  write_text(archive_, bytes);
  EXPECT_THROW(load_npz(archive_), Error);
}

TEST_F(Npy, RefusesEveryTruncatedFileOfASmallArchive) {
  save_npz(archive_, {{"w", ones({4})}}, {.compressed = true});
  const std::string bytes = read_text(archive_);
  for (size_t size = 0; size < bytes.size(); ++size) {
    write_text(archive_, bytes.substr(0, size));
    EXPECT_THROW(load_npz(archive_), Error) << size;
  }
}

TEST_F(Npy, RefusesToSaveUndefinedTensors) {
  EXPECT_TAPE_ERROR(save_npy(path_, Tensor()), ErrorKind::config, path_ + ": the tensor is undefined");
  EXPECT_TAPE_ERROR(save_npz(archive_, {{"w", Tensor()}}), ErrorKind::config, archive_ + ": tensor \"w\" is undefined");
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace tape
