#include <gtest/gtest.h>

#include "tests/allocation/failing_allocator.h"

namespace tape {
namespace {

// An exception during loading would end the program before it could report that memory is short.
TEST(EarlyAllocations, AreNotMadeByTheLibrary) {
  EXPECT_GT(early_allocations().all, 0);  // the test's own block shows that counting works
  EXPECT_EQ(early_allocations().by_tapeformer, 0);
}

}  // namespace
}  // namespace tape
