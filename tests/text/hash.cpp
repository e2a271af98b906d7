#include "text/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace tape {
namespace {

TEST(Hash, MatchesXxhash) {
  // Python: xxhash.xxh3_64(b"abc").intdigest(), and with seed=1
  EXPECT_EQ(hash_of("abc"), 0x78af5f94892f3950u);
  EXPECT_EQ(hash_of("abc", 1), 0x6b4467b443c76228u);
  EXPECT_EQ(hash_of(""), 0x2d06800538d394c2u);
}

TEST(Hash, IsTheSameForPiecesAndTheWhole) {
  std::string bytes(1000, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{240}, size_t{999}, size_t{1000}}) {
    Hash hash;
    hash.add(bytes.data(), cut);
    hash.add(bytes.data() + cut, bytes.size() - cut);
    EXPECT_EQ(hash.value(), hash_of(bytes)) << cut;
  }
}

}  // namespace
}  // namespace tape
