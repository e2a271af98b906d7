// Each test begins with the random streams that it would find alone in a process, whatever ran before it.
#include <gtest/gtest.h>

#include "autograd/random.h"

namespace tape {
namespace {

class FreshStreams : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    static const RandomState at_first = random_state();
    set_random_state(at_first);
  }
};

[[maybe_unused]] const bool listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new FreshStreams);  // which then owns it
  return true;
}();

}  // namespace
}  // namespace tape
