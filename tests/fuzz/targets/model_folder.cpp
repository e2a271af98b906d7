#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/file.h"
#include "models/folders/folder.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets/same_tensors.h"

namespace tape::fuzz {

/// config.json, then model.safetensors, or an empty part, the index and two shards: a loaded model round-trips through
/// saving and loading.
void fuzz_model_folder(Bytes bytes) {
  constexpr std::array names{"config.json", "model.safetensors", "model.safetensors.index.json",
                             "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
  const std::string folder = empty_folder();
  const std::vector<std::string_view> parts = parts_of(bytes);
  for (size_t i = 0; i < std::min(parts.size(), names.size()); ++i)
    if (!parts[i].empty()) put_file(fmt::format("{}/{}", folder, names[i]), parts[i]);
  const auto model = accepted([&] { return models::load_model(folder); });
  if (!model) return;
  const std::string first = folder + "/first", second = folder + "/second";
  models::save(first, *model);
  const models::AnyModel again = models::load_model(first);
  expect_same_tensors(models::module_of(again).state_dict(), models::module_of(*model).state_dict());
  models::save(second, again);
  expect(read_text(first + "/config.json") == read_text(second + "/config.json"), "the configuration differs");
}

}  // namespace tape::fuzz
