#include "train/distributed/communicator.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tape::train {
namespace {

class DoneTransfer : public Transfer {
 public:
  bool done() override { return true; }
  void wait() override {}
};

void copy_bytes(const void* from, void* to, int64_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

std::unique_ptr<Transfer> SingleProcess::start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) {
  copy_bytes(send->data(), receive->data(), bytes);
  return std::make_unique<DoneTransfer>();
}

std::unique_ptr<Transfer> SingleProcess::start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) {
  return start_all_to_all(std::move(send), std::move(receive), bytes);
}

void SingleProcess::all_gather(const void* send, void* receive, int64_t bytes) { copy_bytes(send, receive, bytes); }

Communicator& ranks_or_single(const std::shared_ptr<Communicator>& ranks) {
  static auto& alone = *new SingleProcess;
  return ranks ? *ranks : alone;
}

std::vector<std::string> all_gather(Communicator& ranks, const std::string& text) {
  const std::vector<int64_t> sizes = all_gather(ranks, static_cast<int64_t>(text.size()));
  const auto longest = static_cast<size_t>(*std::ranges::max_element(sizes));
  std::string padded = text, gathered(longest * sizes.size(), '\0');
  padded.resize(longest);
  ranks.all_gather(padded.data(), gathered.data(), static_cast<int64_t>(longest));
  std::vector<std::string> all;
  for (size_t i = 0; i < sizes.size(); ++i) all.push_back(gathered.substr(i * longest, static_cast<size_t>(sizes[i])));
  return all;
}

std::string broadcast(Communicator& ranks, std::string text) {
  auto size = static_cast<int64_t>(text.size());
  ranks.broadcast(&size, sizeof size);
  text.resize(static_cast<size_t>(size));
  ranks.broadcast(text.data(), size);
  return text;
}

bool any(Communicator& ranks, bool here) {
  return std::ranges::any_of(all_gather(ranks, static_cast<char>(here)), [](char there) { return there != 0; });
}

void barrier(Communicator& ranks) { any(ranks, false); }

std::vector<std::string> gather_shares(Communicator& ranks, const std::vector<std::string>& mine, size_t count) {
  // Packs each text after its length.
  std::string packed;
  for (const std::string& text : mine) {
    const auto size = static_cast<int64_t>(text.size());
    packed.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  }
  const std::vector<std::string> packs = all_gather(ranks, packed);
  std::vector<size_t> at(packs.size(), 0);
  std::vector<std::string> all(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string& pack = packs[i % packs.size()];
    size_t& place = at[i % packs.size()];
    int64_t size = 0;
    if (place + sizeof size > pack.size())
      raise(ErrorKind::index, "gather_shares: rank {} has too few elements", i % packs.size());
    std::memcpy(&size, pack.data() + place, sizeof size);
    all[i] = pack.substr(place + sizeof size, static_cast<size_t>(size));
    place += sizeof size + static_cast<size_t>(size);
  }
  return all;
}

}  // namespace tape::train
