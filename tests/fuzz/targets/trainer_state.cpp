#include "train/checkpoints/trainer_state.h"

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// trainer_state.json: its content round-trips.
void fuzz_trainer_state(Bytes bytes) {
  const std::string text(text_of(bytes));
  const auto state = accepted([&] { return train::trainer_state_from(text, "trainer_state.json"); });
  if (!state) return;
  const std::string written = train::to_json(*state);
  expect(train::to_json(train::trainer_state_from(written, "written output")) == written, "the written state differs");
}

}  // namespace tape::fuzz
