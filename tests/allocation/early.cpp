#include <gtest/gtest.h>

#include "tests/allocation/failing_allocator.h"

namespace tape {
namespace {

// An exception there ends the program before it could say that there is too little memory.
TEST(EarlyAllocations, AreNoneOfTheLibrarysOwn) {
  EXPECT_GT(early_allocations().all, 0);  // of the test itself: the count works
  EXPECT_EQ(early_allocations().by_tapeformer, 0);
}

}  // namespace
}  // namespace tape
