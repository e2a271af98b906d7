#include "train/distributed/consistency.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "autograd/device_memory.h"
#include "base/error.h"
#include "text/hash.h"

namespace tape::train {
namespace {

/// The first line in which two texts differ, shortened.
std::pair<std::string, std::string> first_difference(std::string_view a, std::string_view b) {
  for (;;) {
    const std::string_view x = a.substr(0, a.find('\n')), y = b.substr(0, b.find('\n'));
    if (x != y || (x.size() == a.size() && y.size() == b.size()))
      return {x.empty() ? "nothing" : std::string(x), y.empty() ? "nothing" : std::string(y)};
    a.remove_prefix(std::min(x.size() + 1, a.size()));
    b.remove_prefix(std::min(y.size() + 1, b.size()));
  }
}

}  // namespace

void check_same_text(Communicator& ranks, const std::string& what, const std::string& text) {
  const std::vector<std::string> all = all_gather(ranks, text);
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) {
      const auto [there, first] = first_difference(all[rank], all[0]);
      raise(ErrorKind::config, "{}: rank {} has {}, rank 0 has {}", what, rank, there, first);
    }
}

void check_same_model(Communicator& ranks, const nn::Module& model) {
  std::string text;
  for (const auto& [name, tensor] : model.state_dict())
    text += fmt::format("{} {} {}\n", name, to_string(tensor.dtype()), to_string(tensor.shape()));
  check_same_text(ranks, "the model", text);
}

void broadcast_values(Communicator& ranks, const nn::StateDict& state) {
  for (const auto& [name, tensor] : state) {
    const Tensor values = tensor.detach().to(cpu);
    ranks.broadcast(values.raw(), values.numel() * size_of(values.dtype()));
    tensor.impl().storage->bump_version();  // in-place write
    copy_bytes(tensor.device(), tensor.device_raw(), cpu, values.raw(), values.numel() * size_of(values.dtype()));
  }
}

void check_same_values(Communicator& ranks, const nn::Module& model, const std::string& when) {
  uint64_t hash = 0;
  for (const auto& [name, tensor] : model.state_dict()) {
    const Tensor values = tensor.detach().to(cpu);
    hash = hash_of(
        {static_cast<const char*>(values.raw()), static_cast<size_t>(values.numel() * size_of(values.dtype()))}, hash);
  }
  const std::vector<uint64_t> all = all_gather(ranks, hash);
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      raise(ErrorKind::graph, "{}: parameters differ between rank {} and rank 0 (XXH3 {:016x} and {:016x})", when, rank,
            all[rank], all[0]);
}

}  // namespace tape::train
