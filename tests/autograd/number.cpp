#include "autograd/number.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Number, KeepsItsKind) {
  EXPECT_EQ(Number(true).dtype(), boolean);
  EXPECT_EQ(Number('a').dtype(), i64);
  EXPECT_EQ(Number(size_t{7}).dtype(), i64);
  EXPECT_EQ(Number(7.0f).dtype(), f64);
  EXPECT_EQ(Number(INT64_MIN).to<int64_t>("x"), INT64_MIN);
  EXPECT_EQ(Number(0.1).value(), 0.1);
  EXPECT_EQ(to_string(Number(0.5)) + " " + to_string(Number(-3)) + " " + to_string(Number(false)), "0.5 -3 false");
  EXPECT_TAPE_ERROR(Number(uint64_t{1} << 63), ErrorKind::numeric, "number: 9223372036854775808 does not fit i64");
}

TEST(Number, ConvertsToAnElementIfItFits) {
  EXPECT_EQ(Number(-1).to<uint8_t>("x"), 255);
  EXPECT_EQ(Number(2.9).to<int32_t>("x"), 2);
  EXPECT_EQ(Number(NAN).to<bool>("x"), true);
  EXPECT_EQ(Number(70000).to<Half>("x"), INFINITY);
  EXPECT_TAPE_ERROR(Number(256).to<uint8_t>("full"), ErrorKind::numeric, "full: 256 does not fit u8");
  EXPECT_TAPE_ERROR(Number(-256).to<uint8_t>("full"), ErrorKind::numeric, "full: -256 does not fit u8");
  EXPECT_TAPE_ERROR(Number(int64_t{1} << 31).to<int32_t>("full"), ErrorKind::numeric,
                    "full: 2147483648 does not fit i32");
  EXPECT_TAPE_ERROR(Number(0x1p63).to<int64_t>("full"), ErrorKind::numeric,
                    "full: 9.223372036854776e+18 does not fit i64");
  EXPECT_TAPE_ERROR(Number(-INFINITY).to<int64_t>("full"), ErrorKind::numeric, "full: -inf does not fit i64");
}

}  // namespace
}  // namespace tape
