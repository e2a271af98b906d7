#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../autograd/memory.h"

namespace tape::train {

/// Bytes on their way between ranks while the caller computes.
class Transfer {
 public:
  Transfer() = default;
  /// One that is not done is given up: what it reads and writes stays allocated, since others may still use it.
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Moves it on as far as that goes without waiting; whether it is done. Nothing moves between calls; one that waits,
  /// for whatever, moves all that this rank has started.
  virtual bool done() = 0;
  /// Returns when it is done.
  virtual void wait() = 0;
};

/// The processes that train together, each with a number, its rank: what the library needs of MPI, and nothing of it.
///
/// Every function but rank() and size() is called by all ranks, in the same order: each kind of transfer is matched
/// with the other ranks' transfers of that kind by the order in which they are started, and blocking calls among
/// themselves. A rank that does not call leaves the others waiting, so a program whose rank fails ends the others
/// too (World). Error (io) where the transport reports a failure. One thread of a process uses it at a time.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  bool leads() const { return rank() == 0; }  ///< whether this is rank 0, which writes and speaks for all

  /// Blocks of transfers are whole multiples of so many bytes.
  static constexpr int64_t kGranule = 64;

  /// Block r of `send`, which has size() blocks of `bytes`, goes to rank r; block r of `receive` comes from it.
  virtual std::unique_ptr<Transfer> start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) = 0;
  /// Block r of `receive` becomes the `bytes` that rank r sends; where both are one storage, this rank's block of it is
  /// what it sends.
  virtual std::unique_ptr<Transfer> start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) = 0;

  /// Block r of `receive` becomes the `bytes` at rank r's `send`.
  virtual void all_gather(const void* send, void* receive, int64_t bytes) = 0;
  /// Gives all what rank `root` has.
  virtual void broadcast(void* data, int64_t bytes, int root = 0) = 0;
};

/// The only rank there is.
class Alone : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Transfer> start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override;
  std::unique_ptr<Transfer> start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override;
  void all_gather(const void* send, void* receive, int64_t bytes) override;
  void broadcast(void*, int64_t, int) override {}
};

/// The ranks that options name; where they name none, this process alone.
Communicator& ranks_or_alone(const std::shared_ptr<Communicator>& ranks);

/// The value of each rank, in their order.
template <class T>
std::vector<T> all_gather(Communicator& ranks, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<size_t>(ranks.size()));
  ranks.all_gather(&value, all.data(), sizeof(T));
  return all;
}
/// Texts of any bytes and lengths.
std::vector<std::string> all_gather(Communicator& ranks, const std::string& text);
/// Rank 0's.
std::string broadcast(Communicator& ranks, std::string text);
/// Whether it is so on any rank.
bool any(Communicator& ranks, bool here);
/// Returns when all ranks have come to it.
void meet(Communicator& ranks);

/// make(i) for each i below `count`, every rank making its share: i of rank i % size(). All results on every rank.
template <class Make>
auto spread(Communicator& ranks, size_t count, Make&& make) {
  using T = decltype(make(size_t{0}));
  static_assert(std::is_trivially_copyable_v<T>);
  const auto size = static_cast<size_t>(ranks.size()), each = (count + size - 1) / size;
  std::vector<T> mine(each), gathered(each * size), all(count);
  for (size_t i = static_cast<size_t>(ranks.rank()), at = 0; i < count; i += size) mine[at++] = make(i);
  ranks.all_gather(mine.data(), gathered.data(), static_cast<int64_t>(each * sizeof(T)));
  for (size_t i = 0; i < count; ++i) all[i] = gathered[i % size * each + i / size];
  return all;
}
/// Every size()-th of a list from this rank's number on: what spread() makes here.
template <class List>
std::vector<typename List::value_type> share_of(const Communicator& ranks, const List& all) {
  std::vector<typename List::value_type> mine;
  for (auto i = static_cast<size_t>(ranks.rank()); i < all.size(); i += static_cast<size_t>(ranks.size()))
    mine.push_back(all[i]);
  return mine;
}
/// What f(some) gives for each of this rank's share of a list that may be longer than memory, some thousand at a time.
template <class List, class F>
auto of_share(const Communicator& ranks, const List& all, F&& f) {
  using T = typename List::value_type;
  constexpr size_t kAtOnce = 4096;
  std::vector<T> some;
  decltype(f(std::as_const(some))) found;
  const auto size = static_cast<size_t>(ranks.size());
  for (auto i = static_cast<size_t>(ranks.rank()); i < all.size(); i += size) {
    some.push_back(all[i]);
    if (some.size() < kAtOnce && i + size < all.size()) continue;
    for (auto& one : f(std::as_const(some))) found.push_back(std::move(one));
    some.clear();
  }
  return found;
}
/// The lists share_of() cut, put together again on every rank.
std::vector<std::string> joined_shares(Communicator& ranks, const std::vector<std::string>& mine, size_t count);

}  // namespace tape::train
