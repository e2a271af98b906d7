#include "models/gguf/gguf.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

const GgufMetadata every_kind{{"general.architecture", std::string("llama")},
                              {"u32", uint32_t{7}},
                              {"i32", int32_t{-7}},
                              {"f32", 0.5F},
                              {"flag", true},
                              {"u64", uint64_t{1} << 40},
                              {"i64", -(int64_t{1} << 40)},
                              {"f64", 0.1},
                              {"numbers", std::vector<uint32_t>{1, 2, 3}},
                              {"types", std::vector<int32_t>{1, -2}},
                              {"scores", std::vector<float>{0.5F, -1}},
                              {"tokens", std::vector<std::string>{"a", "", "ß"}}};

TEST(Gguf, ReadsWhatItWrites) {
  const TemporaryFolder folder;
  const Tensor table = randn({3, 64}), line = randn({5}), cube = randn({2, 3, 4});
  save_gguf(folder / "a.gguf", every_kind, {{"table", table}, {"line", line}, {"cube", cube.to(f64)}});
  const GgufFile file = load_gguf(folder / "a.gguf");
  EXPECT_EQ(file.metadata.size(), every_kind.size());
  for (const auto& [key, value] : every_kind) EXPECT_EQ(file.metadata.at(key), value) << key;
  EXPECT_TRUE(tensors_equal(file.tensors.at("table"), table));
  EXPECT_TRUE(tensors_equal(file.tensors.at("line"), line));
  EXPECT_TRUE(tensors_equal(file.tensors.at("cube"), cube));
}

/// However large the other axes are.
TEST(Gguf, ReadsEmptyTensorsThatItWrites) {
  const TemporaryFolder folder;
  for (const Shape& shape : {Shape{0}, Shape{0, 1024}, Shape{1000, 0, 64}, Shape{Shape::kMaxElements, 0}})
    for (const GgufType type : {GgufType::F32, GgufType::Q8_0}) {
      save_gguf(folder / "a.gguf", {}, {{"x", zeros(shape), type}, {"y", ones({32})}});
      const auto read = load_gguf(folder / "a.gguf").tensors;
      EXPECT_EQ(read.at("x").shape(), shape);
      EXPECT_TRUE(tensors_equal(read.at("y"), ones({32})));
    }
}

/// tests/fixtures/gguf/, written by the package gguf.
TEST(Gguf, AgreesWithThePackage) {
  const GgufFile file = load_gguf(fixture_path("gguf/package.gguf"));
  const auto expected = fixture_tensors("gguf/expected");
  EXPECT_EQ(std::get<std::string>(file.metadata.at("general.architecture")), "tapeformer");
  EXPECT_EQ(std::get<uint32_t>(file.metadata.at("small")), 200U);
  EXPECT_EQ(std::get<std::vector<std::string>>(file.metadata.at("tokens")), (std::vector<std::string>{"a", "ß"}));
  for (const char* type : {"F32", "F16", "BF16", "Q8_0", "Q4_0"})
    EXPECT_TRUE(tensors_equal(file.tensors.at(type), expected.at(type))) << type;
}

/// Our blocks equal the package's byte for byte.
TEST(Gguf, RoundsLikeThePackage) {
  const TemporaryFolder folder;
  const Tensor values = fixture_tensors("gguf/expected").at("values");
  const auto theirs = load_gguf(fixture_path("gguf/package.gguf")).tensors;
  for (const GgufType type : {GgufType::F32, GgufType::F16, GgufType::BF16, GgufType::Q8_0, GgufType::Q4_0}) {
    save_gguf(folder / "a.gguf", {}, {{"x", values, type}});
    EXPECT_TRUE(tensors_equal(load_gguf(folder / "a.gguf").tensors.at("x"), theirs.at(to_string(type))))
        << to_string(type);
  }
}

TEST(Gguf, RefusesToWriteWhatTheFormatCannotStore) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.gguf";
  const Tensor x = ones({2, 33});
  EXPECT_TAPE_ERROR(save_gguf(path, {}, {{"x", x, GgufType::Q8_0}}), ErrorKind::config,
                    path + ": tensor \"x\" [2, 33]: rows of Q8_0 must be a multiple of 32");
  for (const double value : {std::nan(""), inf, -inf}) {
    const Tensor y = full({1, 32}, value);
    EXPECT_TAPE_ERROR(save_gguf(path, {}, {{"y", y, GgufType::Q4_0}}), ErrorKind::config,
                      path + ": tensor \"y\": Q4_0 cannot represent NaN and infinity");
    save_gguf(path, {}, {{"y", y}});
    EXPECT_TRUE(tensors_equal(load_gguf(path).tensors.at("y"), y));
  }
  EXPECT_TAPE_ERROR(save_gguf(path, {}, {{"x", x}, {"x", x}}), ErrorKind::config,
                    path + ": two tensors are called \"x\"");
  EXPECT_TAPE_ERROR(save_gguf(path, {{"k", true}, {"k", true}}, {}), ErrorKind::config,
                    path + ": two entries are called \"k\"");
  EXPECT_TAPE_ERROR(save_gguf(path, {}, {{"x", ones({2}, i64)}}), ErrorKind::config,
                    path + ": tensor \"x\": values must be f32 or f64, not i64");
  EXPECT_TAPE_ERROR(save_gguf(path, {}, {{"x", ones({1, 1, 1, 1, 1})}}), ErrorKind::config,
                    path + ": tensor \"x\" [1, 1, 1, 1, 1]: must have one to four axes");
}

/// A small file, which tests then break.
class BrokenGguf : public testing::Test {
 protected:
  BrokenGguf() {
    save_gguf(path(), {{"general.alignment", uint32_t{32}}, {"names", std::vector<std::string>{"a", "b"}}},
              {{"x", ones({2, 32})}});
    bytes_ = read_text(path());
  }
  std::string path() const { return folder_ / "a.gguf"; }
  template <class T>
  void put(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  size_t place(const std::string& text) const { return bytes_.find(text); }
  void expect_refused(const std::string& sentence, ErrorKind kind = ErrorKind::format) {
    write_text(path(), bytes_);
    EXPECT_TAPE_ERROR(load_gguf(path()), kind, fmt::format("{}: {}", path(), sentence));
  }
  const TemporaryFolder folder_;
  std::string bytes_;
};

TEST_F(BrokenGguf, IsRefusedWithoutItsMagic) {
  put(0, 'g');
  expect_refused("is not a GGUF file: it does not begin with \"GGUF\"");
  bytes_.clear();
  expect_refused("is not a GGUF file: it does not begin with \"GGUF\"");
}

TEST_F(BrokenGguf, IsRefusedForAnotherVersion) {
  put(4, uint32_t{1});
  expect_refused("GGUF version 1 is not supported; versions 2 and 3 are");
}

TEST_F(BrokenGguf, IsRefusedForAStringLongerThanTheFile) {
  put(24, uint64_t{1} << 60);
  expect_refused(fmt::format("1152921504606846976 bytes are needed, at byte 32 of {}", bytes_.size()));
}

TEST_F(BrokenGguf, IsRefusedForAnArrayLongerThanTheFile) {
  put(place("names") + 5 + 8, uint64_t{1} << 60);
  expect_refused(
      fmt::format("\"names\": an array of 1152921504606846976, at byte {} of {}", place("names") + 21, bytes_.size()));
}

TEST_F(BrokenGguf, IsRefusedForAnUnsupportedType) {
  put(bytes_.find("x", place("names") + 30) + 1 + 4 + 16, uint32_t{12});
  expect_refused("tensor \"x\": ggml type 12 is not supported; F32, F16, BF16, Q8_0 and Q4_0 are", ErrorKind::dtype);
}

TEST_F(BrokenGguf, IsRefusedForATensorBeyondTheFile) {
  put(bytes_.find("x", place("names") + 30) + 1 + 4 + 16 + 4, uint64_t{1} << 60);
  expect_refused(
      fmt::format("tensor \"x\": 256 bytes at 1152921504606846976 of the values exceed the file of {}", bytes_.size()));
}

TEST_F(BrokenGguf, IsRefusedForMoreValuesThanBytes) {
  const size_t sizes = bytes_.find("x", place("names") + 30) + 1 + 4;
  const uint64_t huge = uint64_t{1} << 62;
  for (const auto& [inner, outer] : std::map<uint64_t, uint64_t>{{huge, huge}, {huge + 1, 1}, {1, ~uint64_t{0}}}) {
    put(sizes, inner);
    put(sizes + 8, outer);
    expect_refused(
        fmt::format("tensor \"x\": more values than the file has, at byte {} of {}", sizes + 16, bytes_.size()));
  }
}

TEST_F(BrokenGguf, IsRefusedIfCutAnywhere) {
  const std::string whole = bytes_;
  for (size_t length = 0; length < whole.size(); ++length) {
    write_text(path(), whole.substr(0, length));
    EXPECT_THROW(load_gguf(path()), Error) << length;
  }
}

}  // namespace
}  // namespace tape
