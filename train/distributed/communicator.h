#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../autograd/memory.h"

namespace tape::train {

/// A non-blocking transfer between ranks.
class Transfer {
 public:
  Transfer() = default;
  /// Abandons an incomplete transfer. Its buffers stay allocated, since other ranks may still access them.
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Makes progress without waiting and returns whether the transfer is complete. Nothing moves between calls; a call
  /// that waits for any transfer advances all transfers that this rank has started.
  virtual bool done() = 0;
  /// Blocks until the transfer is complete.
  virtual void wait() = 0;
};

/// The processes that train together, identified by rank: the part of MPI that the library needs, behind an interface
/// without MPI types.
///
/// All ranks must call every function except rank() and size(), in the same order. Each kind of transfer is matched
/// with the other ranks' transfers of that kind by the order in which they are started; blocking calls are matched
/// among themselves. A rank that does not call leaves the others waiting, so a program must end all ranks when one
/// fails (see World). Throws Error (io) if the transport reports a failure. Not thread-safe: one thread per process at
/// a time.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  bool is_root() const { return rank() == 0; }  ///< whether this is rank 0, which writes files and prints

  /// Transfer blocks must be a multiple of this many bytes.
  static constexpr int64_t kGranule = 64;

  /// Sends block r of `send`, of size() blocks of `bytes`, to rank r; receives block r of `receive` from rank r.
  virtual std::unique_ptr<Transfer> start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) = 0;
  /// Block r of `receive` becomes the `bytes` that rank r sends. If `send` and `receive` are the same storage, this
  /// rank sends its own block of it.
  virtual std::unique_ptr<Transfer> start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) = 0;

  /// Block r of `receive` becomes the `bytes` of rank r's `send`.
  virtual void all_gather(const void* send, void* receive, int64_t bytes) = 0;
  /// Copies the data of rank `root` to all ranks.
  virtual void broadcast(void* data, int64_t bytes, int root = 0) = 0;
};

/// A communicator with a single rank.
class SingleProcess : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Transfer> start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override;
  std::unique_ptr<Transfer> start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override;
  void all_gather(const void* send, void* receive, int64_t bytes) override;
  void broadcast(void*, int64_t, int) override {}
};

/// Returns `*ranks`, or a single-process communicator if `ranks` is null.
Communicator& ranks_or_single(const std::shared_ptr<Communicator>& ranks);

/// The values of all ranks, in rank order.
template <class T>
std::vector<T> all_gather(Communicator& ranks, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<size_t>(ranks.size()));
  ranks.all_gather(&value, all.data(), sizeof(T));
  return all;
}
/// As above, for strings of any content and length.
std::vector<std::string> all_gather(Communicator& ranks, const std::string& text);
/// Returns rank 0's text on every rank.
std::string broadcast(Communicator& ranks, std::string text);
/// Whether `here` is true on any rank.
bool any(Communicator& ranks, bool here);
/// Barrier: returns once all ranks have called it.
void barrier(Communicator& ranks);

/// Computes make(i) for each i < count, index i on rank i % size(), and returns all results on every rank.
template <class Make>
auto map_over_ranks(Communicator& ranks, size_t count, Make&& make) {
  using T = decltype(make(size_t{0}));
  static_assert(std::is_trivially_copyable_v<T>);
  const auto size = static_cast<size_t>(ranks.size()), each = (count + size - 1) / size;
  std::vector<T> mine(each), gathered(each * size), all(count);
  for (size_t i = static_cast<size_t>(ranks.rank()), at = 0; i < count; i += size) mine[at++] = make(i);
  ranks.all_gather(mine.data(), gathered.data(), static_cast<int64_t>(each * sizeof(T)));
  for (size_t i = 0; i < count; ++i) all[i] = gathered[i % size * each + i / size];
  return all;
}
/// This rank's elements of a list: those at indices i with i % size() == rank(), as in map_over_ranks().
template <class List>
std::vector<typename List::value_type> share_of(const Communicator& ranks, const List& all) {
  std::vector<typename List::value_type> mine;
  for (auto i = static_cast<size_t>(ranks.rank()); i < all.size(); i += static_cast<size_t>(ranks.size()))
    mine.push_back(all[i]);
  return mine;
}
/// Applies f to this rank's share of a list, 4096 elements at a time, so that the list may be larger than memory.
template <class List, class F>
auto map_share(const Communicator& ranks, const List& all, F&& f) {
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
/// Reassembles on every rank the lists that share_of() split.
std::vector<std::string> gather_shares(Communicator& ranks, const std::vector<std::string>& mine, size_t count);

}  // namespace tape::train
