#include "train/checkpoints/trainer_state.h"

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// trainer_state.json: what was read is the same when it is written and read again.
void fuzz_trainer_state(Bytes bytes) {
  const std::string text(text_of(bytes));
  const auto state = unless_refused([&] { return train::trainer_state_from(text, "trainer_state.json"); });
  if (!state) return;
  const std::string written = train::to_json(*state);
  expect(train::to_json(train::trainer_state_from(written, "what was written")) == written,
         "what was written reads as another state");
}

}  // namespace tape::fuzz
