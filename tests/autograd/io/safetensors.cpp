#include "autograd/io/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "autograd/create.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/growth.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

namespace fs = std::filesystem;

class Safetensors : public testing::Test {
 protected:
  /// A file with this header and this many bytes of data.
  void write_header(const std::string& header, size_t data = 0) {
    const uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    write_text(path_, bytes + header + std::string(data, '\1'));
  }
  void expect_refused(const std::string& header, size_t data, const std::string& sentence,
                      ErrorKind kind = ErrorKind::format) {
    write_header(header, data);
    EXPECT_TAPE_ERROR(load_safetensors(path_), kind, path_ + ": " + sentence);
  }
  /// A file with one tensor "w".
  void expect_entry_refused(const std::string& entry, size_t data, const std::string& sentence,
                            ErrorKind kind = ErrorKind::format) {
    expect_refused("{\"w\":" + entry + "}", data, "tensor \"w\": " + sentence, kind);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "m.safetensors";
};

TEST_F(Safetensors, RoundTripsEveryDtypeAndShape) {
  const std::map<std::string, Tensor> tensors{{"f32", tensor({{1, -2.5, 3}, {NAN, INFINITY, -0.0}})},
                                              {"f64", tensor({1e300, std::numeric_limits<double>::denorm_min()}, f64)},
                                              {"i64", from_vector<int64_t>({INT64_MIN, -1, INT64_MAX})},
                                              {"bool", tensor({1, 0, 1}, boolean)},
                                              {"f16", tensor({0.1, -65504, INFINITY}, f16)},
                                              {"bf16", tensor({{0.1}, {-3e38}}, bf16)},
                                              {"i32", from_vector<int32_t>({INT32_MIN, -1, INT32_MAX})},
                                              {"u8", tensor({0, 255, 7}, u8)},
                                              {"scalar", scalar(7)},
                                              {"empty", zeros({2, 0, 3}, f64)},
                                              {"a \"name\" \xC3\xA9\n", ones({1, 2, 3, 1})}};
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"x", ""}};
  save_safetensors(path_, tensors, metadata);
  const SafetensorsFile loaded = load_safetensors(path_);
  EXPECT_EQ(loaded.metadata, metadata);
  ASSERT_EQ(loaded.tensors.size(), tensors.size());
  for (const auto& [name, value] : tensors) {
    const Tensor& found = loaded.tensors.at(name);
    ASSERT_EQ(found.dtype(), value.dtype()) << name;
    ASSERT_EQ(found.shape(), value.shape()) << name;
    EXPECT_EQ(std::memcmp(found.raw(), value.raw(), static_cast<size_t>(value.numel() * size_of(value.dtype()))), 0)
        << name;
  }
}

TEST_F(Safetensors, WritesTheFormat) {
  save_safetensors(path_, {{"b", tensor({1, 2})}, {"a", tensor({1}, boolean)}, {"c", tensor({3}, f64)}}, {{"k", "v"}});
  const std::string bytes = read_text(path_);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(
      bytes.substr(8, length).substr(0, bytes.substr(8, length).find_last_not_of(' ') + 1),
      R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[16,17],"dtype":"BOOL","shape":[1]},)"
      R"("b":{"data_offsets":[8,16],"dtype":"F32","shape":[2]},"c":{"data_offsets":[0,8],"dtype":"F64","shape":[1]}})");
  EXPECT_EQ(bytes.size(), 8 + length + 17);
  EXPECT_EQ(bytes.back(), '\1');
}

TEST_F(Safetensors, RoundTripsAnEmptyFile) {
  save_safetensors(path_, std::map<std::string, Tensor>{});
  EXPECT_TRUE(load_safetensors(path_).tensors.empty());
  // The reference implementation writes an empty file without padding.
  write_header("{}");
  EXPECT_TRUE(load_safetensors(path_).tensors.empty());
}

TEST_F(Safetensors, ReadsMetadataLikeTheReferenceImplementation) {
  write_header(R"({"__metadata__":null})");
  EXPECT_TRUE(load_safetensors(path_).metadata.empty());
  write_header(R"({"__metadata__":{}})");
  EXPECT_TRUE(load_safetensors(path_).metadata.empty());
  write_header(R"({"__metadata__":{"":"","k":"1","k":"2"}})");
  EXPECT_EQ(load_safetensors(path_).metadata, (std::map<std::string, std::string>{{"", ""}, {"k", "2"}}));
}

TEST_F(Safetensors, ReadsSmallerDtypes) {
  const auto stored = [&](const std::string& dtype, auto values) {
    const size_t bytes = values.size() * sizeof(values[0]);
    write_header(
        fmt::format(R"({{"w":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", dtype, values.size(), bytes));
    append_text(path_, {reinterpret_cast<const char*>(values.data()), bytes});
    return load_safetensors(path_).tensors.at("w");
  };
  // 1, -2, largest, smallest normal, smallest subnormal, zero, infinity, NaN
  const std::vector<uint16_t> half{0x3C00, 0xC000, 0x7BFF, 0x0400, 0x0001, 0x8000, 0xFC00, 0x7E00};
  EXPECT_TRUE(tensors_equal(stored("F16", half), tensor({1, -2, 65504, 0x1p-14, 0x1p-24, -0.0, -INFINITY, NAN}, f16)));
  EXPECT_TRUE(tensors_equal(stored("BF16", std::vector<uint16_t>{0x3F80, 0xC049, 0x7F80}),
                            tensor({1, -3.140625, INFINITY}, bf16)));
  EXPECT_TRUE(tensors_equal(stored("I32", std::vector<int32_t>{-1, INT32_MAX}), tensor({-1, 2147483647}, i32)));
  EXPECT_TRUE(tensors_equal(stored("U8", std::vector<uint8_t>{0, 255}), tensor({0, 255}, u8)));
}

TEST_F(Safetensors, RefusesShortFiles) {
  for (size_t size = 0; size < 8; ++size) {
    write_text(path_, std::string(size, '\0'));
    EXPECT_TAPE_ERROR(load_safetensors(path_), ErrorKind::format,
                      fmt::format("{}: header too small ({} bytes)", path_, size));
  }
}

TEST_F(Safetensors, RefusesInvalidHeaderLengths) {
  const auto with_length = [&](uint64_t length) {
    std::string bytes(10, ' ');
    std::memcpy(bytes.data(), &length, 8);
    write_text(path_, bytes);
    EXPECT_TAPE_ERROR(load_safetensors(path_), ErrorKind::format,
                      fmt::format("{}: header length {}, but the file has 10 bytes", path_, length));
  };
  write_text(path_, std::string(8, '\0'));
  EXPECT_TAPE_ERROR(load_safetensors(path_), ErrorKind::format,
                    fmt::format("{}: header length 0, but the file has 8 bytes", path_));
  with_length(0);
  with_length(3);
  with_length(100'000'001);
  with_length(UINT64_MAX);
}

TEST_F(Safetensors, RefusesHeadersThatAreNotJsonObjects) {
  expect_refused("[]", 0, "the header must begin with '{' (byte 8), found 0x5b");
  expect_refused(" {}", 0, "the header must begin with '{' (byte 8), found 0x20");
  expect_refused("{\"a\":}", 0, "the header is not JSON at byte 13");
  expect_refused("{} x", 0, "the header is not JSON at byte 11");
  expect_refused("{\"a\":1e999}", 0, "the header contains a number out of range");
  expect_refused("{\"\xFF\":1}", 0, "the header is not UTF-8 at byte 10");
  expect_refused("{\"\xED\xA0\x80\":1}", 0, "the header is not UTF-8 at byte 10");
  write_header("{}      ");
  EXPECT_TRUE(load_safetensors(path_).tensors.empty());
}

TEST_F(Safetensors, RefusesHeadersThatJsonLibrariesAccept) {
  const std::string deep = "{\"deep\":" + std::string(64, '[') + std::string(64, ']') + "}";
  expect_refused(deep, 0, "the header is nested deeper than 64 at key \"deep\"");
  expect_refused("{\"deep\":" + std::string(1'000'000, '['), 0, "the header is nested deeper than 64 at key \"deep\"");
  const std::string entry = R"({"dtype":"F32","shape":[],"data_offsets":[0,4]})";
  expect_refused("{\"w\":" + entry + ",\"w\":" + entry + "}", 4, "key \"w\" appears twice");
  expect_refused(R"({"w":{"dtype":"F32","dtype":"F64"}})", 4, "key \"dtype\" appears twice");
  expect_refused(R"({"__metadata__":{"k":1}})", 0, "__metadata__: the value of \"k\" must be a string, got number");
  expect_refused(R"({"__metadata__":{"k":null}})", 0, "__metadata__: the value of \"k\" must be a string, got null");
  expect_refused(R"({"__metadata__":null,"__metadata__":{}})", 0, "key \"__metadata__\" appears twice");
  expect_refused(R"({"__metadata__":[]})", 0, "__metadata__ must be an object, got array");
  std::string many = "{";
  for (int i = 0; i <= 100'001; ++i) many += fmt::format("{}\"{}\":1", i == 0 ? "" : ",", i);
  expect_refused(many + "}", 0, "more than 100000 tensors, from \"100001\" on");
}

TEST_F(Safetensors, ReadsAHeaderInLinearTime) {
  expect_almost_linear(2500, [this](size_t tensors) {
    std::string header = "{";
    for (size_t i = 0; i < tensors; ++i)
      header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", i == 0 ? "" : ",", i);
    write_header(header + "}");
    EXPECT_EQ(load_safetensors(path_).tensors.size(), tensors);
  });
}

TEST_F(Safetensors, RefusesInvalidEntries) {
  expect_entry_refused("1", 0, "its entry must be an object, got number");
  expect_entry_refused(R"({"shape":[],"data_offsets":[0,4]})", 4, "dtype is missing");
  expect_entry_refused(R"({"dtype":"F32","data_offsets":[0,4]})", 4, "shape is missing");
  expect_entry_refused(R"({"dtype":"F32","shape":[]})", 4, "data_offsets is missing");
  expect_entry_refused(R"({"dtype":3,"shape":[],"data_offsets":[0,4]})", 4, "dtype must be a string, got number");
  expect_entry_refused(R"({"dtype":"F31","shape":[],"data_offsets":[0,4]})", 4, "unknown dtype \"F31\"");
  expect_entry_refused(R"({"dtype":"F8_E5M2","shape":[],"data_offsets":[0,1]})", 1,
                       "dtype F8_E5M2 is not supported (F64, F32, F16, BF16, I64, I32, U8 and BOOL are)",
                       ErrorKind::dtype);
}

TEST_F(Safetensors, RefusesInvalidShapes) {
  const auto refused = [&](const std::string& shape, const std::string& sentence) {
    expect_entry_refused(fmt::format(R"({{"dtype":"F32","shape":{},"data_offsets":[0,4]}})", shape), 4, sentence);
  };
  refused("4", "shape must be a list, got number");
  refused("[-1]", "shape [-1] contains -1, which is not a size");
  refused("[1.0]", "shape [1.0] contains 1.0, which is not a size");
  refused("[\"1\"]", "shape [\"1\"] contains \"1\", which is not a size");
  refused("[18446744073709551616]",
          "shape [1.8446744073709552e+19] contains 1.8446744073709552e+19, which is not a size");
  refused("[9223372036854775808]", "shape [9223372036854775808] contains 9223372036854775808, which is not a size");
  refused("[1,1,1,1,1,1,1,1,1]", "shape has 9 axes, at most 8 are supported");
  refused("[4194305,4194305,211106198978564]", "shape [4194305,4194305,211106198978564] overflows");
  refused("[4611686018427387904]", "shape [4611686018427387904] overflows");
}

TEST_F(Safetensors, RefusesInvalidOffsets) {
  const auto refused = [&](const std::string& offsets, const std::string& sentence) {
    expect_entry_refused(fmt::format(R"({{"dtype":"F32","shape":[2],"data_offsets":{}}})", offsets), 8, sentence);
  };
  refused("8", "data_offsets must be two integers, found 8");
  refused("[0]", "data_offsets must be two integers, found [0]");
  refused("[0,4,8]", "data_offsets must be two integers, found [0,4,8]");
  refused("[-8,0]", "data_offsets must be two integers, found [-8,0]");
  refused("[0,8.0]", "data_offsets must be two integers, found [0,8.0]");
  refused("[8,0]", "data_offsets [8, 0] are out of order");
  refused("[0,4]", "data_offsets [0, 4] span 4 bytes, shape [2] of F32 needs 8");
  refused("[4,12]", "data_offsets [4, 12] reach past the end, the file has 8 bytes of data");
  refused("[18446744073709551607,18446744073709551615]",
          "data_offsets [18446744073709551607, 18446744073709551615] reach past the end, the file has 8 bytes of data");
}

TEST_F(Safetensors, RefusesOverlapsGapsAndTrailingBytes) {
  const auto pair = [](int a, int b, int c, int d) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}},)"
                       R"("b":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}}}})",
                       (b - a) / 4, a, b, (d - c) / 4, c, d);
  };
  expect_refused(pair(0, 8, 4, 12), 12, "tensor \"b\": data_offsets [4, 12] overlap those of \"a\" [0, 8]");
  expect_refused(pair(0, 8, 4, 4), 8, "tensor \"b\": data_offsets [4, 4] overlap those of \"a\" [0, 8]");
  expect_refused(pair(0, 4, 8, 12), 12, "tensor \"b\": data_offsets [8, 12] leave a gap from byte 4");
  expect_refused(pair(4, 8, 8, 12), 12, "tensor \"a\": data_offsets [4, 8] leave a gap from byte 0");
  expect_refused(pair(0, 4, 4, 8), 9, "1 trailing bytes: the tensors end at 8, the data at 9");
  write_header(pair(4, 4, 0, 4), 4);
  EXPECT_EQ(load_safetensors(path_).tensors.at("a").numel(), 0);
}

TEST_F(Safetensors, RefusesBytesThatAreNotBools) {
  write_header(R"({"w":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})");
  append_text(path_, "\2");
  EXPECT_TAPE_ERROR(load_safetensors(path_), ErrorKind::format,
                    path_ + ": tensor \"w\": a BOOL must be 0 or 1, found 2");
}

TEST_F(Safetensors, RefusesMissingFilesAndOtherPaths) {
  EXPECT_TAPE_ERROR(load_safetensors(path_), ErrorKind::io, path_ + ": cannot open: No such file or directory");
  EXPECT_TAPE_ERROR(load_safetensors(folder_.path()), ErrorKind::io, folder_.path() + ": cannot read: Is a directory");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TAPE_ERROR(load_safetensors(path_), ErrorKind::io, path_ + ": cannot read: not a regular file");
}

TEST_F(Safetensors, NamesAFileThatShrinks) {
  write_text(path_, std::string(100, 'x'));
  const InputFile file(path_);
  fs::resize_file(path_, 40);
  std::string to(100, '\0');
  EXPECT_TAPE_ERROR(file.read(0, to.data(), 100), ErrorKind::io,
                    path_ + ": the file ends at byte 40 but had 100 bytes when it was opened");
}

TEST_F(Safetensors, RefusesToSaveInvalidNamesAndTensors) {
  EXPECT_TAPE_ERROR(save_safetensors(path_, std::map<std::string, Tensor>{{"w", Tensor()}}), ErrorKind::config,
                    path_ + ": tensor \"w\" is undefined");
  EXPECT_TAPE_ERROR(save_safetensors(path_, std::map<std::string, Tensor>{{"__metadata__", ones({1})}}),
                    ErrorKind::config, path_ + ": a tensor cannot be named \"__metadata__\"");
  EXPECT_TAPE_ERROR(save_safetensors(path_, std::map<std::string, Tensor>{{"\xFF", ones({1})}}), ErrorKind::config,
                    path_ + ": a tensor name or a metadata value is not UTF-8");
  const std::vector<NamedTensor> twice{{"w", ones({1})}, {"w", ones({1})}};
  EXPECT_TAPE_ERROR(save_safetensors(path_, twice), ErrorKind::config, path_ + ": two tensors are named \"w\"");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Safetensors, KeepsTheOldFileIfSavingFails) {
  const std::map<std::string, Tensor> tensors{{"w", ones({1})}};
  const std::string lost = folder_ / "missing/m.safetensors";
  EXPECT_TAPE_ERROR(save_safetensors(lost, tensors), ErrorKind::io,
                    lost + ": cannot create the file: No such file or directory");
  fs::create_directories(path_);  // a folder at the file's path
  EXPECT_TAPE_ERROR(save_safetensors(path_, tensors), ErrorKind::io,
                    path_ + ": cannot rename the temporary file to it: Is a directory");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "something was left beside";
  // A full disk: the device refuses every byte.
  const std::vector<std::string_view> parts{"x"};
  fs::create_symlink("/dev/full", folder_ / "full");
  EXPECT_TAPE_ERROR(write_file(folder_ / "full", parts), ErrorKind::io,
                    folder_ / "full" + ": cannot write: No space left on device");
}

TEST_F(Safetensors, RefusesEveryTruncatedFile) {
  save_safetensors(path_, {{"b", tensor({1, 2})}, {"a", tensor({1}, boolean)}}, {{"k", "v"}});
  const std::string whole = read_text(path_);
  for (size_t size = 0; size < whole.size(); ++size) {
    write_text(path_, whole.substr(0, size));
    EXPECT_THROW(load_safetensors(path_), Error) << size;
  }
}

TEST_F(Safetensors, SurvivesEveryFlippedBitOfTheHeader) {
  save_safetensors(path_, {{"b", tensor({1, 2})}, {"a", tensor({1}, boolean)}}, {{"k", "v"}});
  const std::string whole = read_text(path_);
  uint64_t length = 0;
  std::memcpy(&length, whole.data(), 8);
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * (8 + length); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    write_text(path_, bytes);
    try {
      load_safetensors(path_);  // a flipped letter in a name gives another valid name
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 4 * (8 + length));
}

}  // namespace
}  // namespace tape
