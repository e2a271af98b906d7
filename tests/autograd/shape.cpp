#include "autograd/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace tape {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Shape, CountsNegativeAxesFromTheBack) {
  const Shape shape{2, 3};
  EXPECT_EQ(shape[-1], 3);
  EXPECT_EQ(shape[-2], 2);
  EXPECT_TAPE_ERROR(shape[2], ErrorKind::index, "shape: axis 2 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(shape[-3], ErrorKind::index, "shape: axis -3 is out of range for shape [2, 3]");
}

TEST(Shape, UnravelsAFlatIndexInRowMajorOrder) {
  const Shape shape{2, 3, 4};
  EXPECT_THAT(shape.unravel(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(shape.unravel(5), ElementsAre(0, 1, 1));
  EXPECT_THAT(shape.unravel(23), ElementsAre(1, 2, 3));
  EXPECT_THAT(Shape({7}).unravel(4), ElementsAre(4));
  EXPECT_THAT(Shape().unravel(0), IsEmpty());
}

}  // namespace
}  // namespace tape
