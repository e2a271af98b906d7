#include "base/device.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace tape {
namespace {

TEST(Device, IsNamedByKindAndIndex) {
  EXPECT_EQ(to_string(cpu), "cpu");
  EXPECT_EQ(to_string(cuda), "cuda");
  EXPECT_EQ(to_string(cuda(1)), "cuda:1");
  EXPECT_EQ(cuda(0), cuda);
  EXPECT_NE(cuda(1), cuda);
  EXPECT_EQ(cuda(1).index(), 1);
  EXPECT_EQ(cpu.kind(), Device::Kind::cpu);
}

TEST(Device, IsReadFromItsName) {
  EXPECT_EQ(parse_device("cpu"), cpu);
  EXPECT_EQ(parse_device("cuda"), cuda);
  EXPECT_EQ(parse_device("cuda:0"), cuda);
  EXPECT_EQ(parse_device("cuda:3"), cuda(3));
  for (const char* wrong : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:200"})
    EXPECT_TAPE_ERROR(parse_device(wrong), ErrorKind::config,
                      std::string("device: expected cpu, cuda or cuda:N, got \"") + wrong + "\"");
}

}  // namespace
}  // namespace tape
