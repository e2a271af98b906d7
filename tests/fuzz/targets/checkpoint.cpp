#include "train/checkpoints/checkpoint.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "autograd/create.h"
#include "optim/adam.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets/same_tensors.h"
#include "train/checkpoints/manifest.h"
#include "train/checkpoints/trainer_state.h"

namespace tape::fuzz {

/// trainer_state.json, model.safetensors, optimizer.safetensors and average.safetensors of a checkpoint of step 20 with
/// a valid manifest. A loaded checkpoint is the same after saving and loading again, and Adam accepts its state or
/// rejects it.
void fuzz_checkpoint(Bytes bytes) {
  constexpr std::array names{"trainer_state.json", "model.safetensors", "optimizer.safetensors", "average.safetensors"};
  const std::string run = empty_folder(), folder = run + "/checkpoint-20";
  std::filesystem::create_directory(folder);
  const std::vector<std::string_view> parts = parts_of(bytes);
  for (size_t i = 0; i < std::min(parts.size(), names.size()); ++i)
    if (!parts[i].empty()) put_file(fmt::format("{}/{}", folder, names[i]), parts[i]);
  train::write_manifest(folder);
  const auto read = accepted([&] { return train::load_checkpoint(folder); });
  if (!read) return;
  std::filesystem::create_directory(run + "/again");
  const train::Checkpoint again = train::load_checkpoint(train::save_checkpoint(run + "/again", *read));
  expect_same_tensors(again.model, read->model);
  expect_same_tensors(again.optimizer, read->optimizer);
  expect_same_tensors(again.average, read->average);
  expect(train::to_json(again.state) == train::to_json(read->state), "the state differs");
  Tensor weight = zeros({2, 3}), bias = zeros({3});
  optim::Adam adam({weight.requires_grad_(true), bias.requires_grad_(true)});
  const bool accepted_inputs = accepted([&] { adam.load_state_dict(read->optimizer); });
  if (!accepted_inputs) return;
  auto expected = read->optimizer;
  expected.try_emplace("initial_lr", expected.at("lr"));  // may be missing in a state
  expect_same_tensors(adam.state_dict(), expected);
}

}  // namespace tape::fuzz
