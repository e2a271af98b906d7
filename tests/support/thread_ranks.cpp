#include "tests/support/thread_ranks.h"

#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace tape {
namespace {

/// A barrier of all ranks at which each publishes what it sends.
struct Meeting {
  std::vector<const char*> sends;
  int arrived = 0, left = 0;
};

enum Kind : size_t { exchange, gather, call, kinds };

/// State that the ranks share.
struct Hub {
  explicit Hub(int ranks) : size(ranks) {}
  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::map<int64_t, Meeting>, kinds> meetings;
  std::exception_ptr failure;

  Meeting& arrive(Kind kind, int64_t number, int rank, const void* send) {
    const std::lock_guard lock(mutex);
    Meeting& meeting = meetings[kind][number];
    meeting.sends.resize(static_cast<size_t>(size));
    meeting.sends[static_cast<size_t>(rank)] = static_cast<const char*>(send);
    ++meeting.arrived;
    changed.notify_all();
    return meeting;
  }
  void check() const {
    if (failure) throw std::runtime_error("another rank failed");
  }
};

/// Blocking calls make progress on all transfers of their rank, as in MPI.
class ThreadTransfer : public train::Transfer {
 public:
  using Take = std::function<void(const std::vector<const char*>& sends)>;
  ThreadTransfer(Hub& hub, std::vector<ThreadTransfer*>& own, Meeting& meeting, Take take)
      : hub_(hub), own_(own), meeting_(meeting), take_(std::move(take)) {
    own_.push_back(this);
  }
  ~ThreadTransfer() override { std::erase(own_, this); }

  bool done() override {
    const std::lock_guard lock(hub_.mutex);
    return moved();
  }
  void wait() override {
    std::unique_lock lock(hub_.mutex);
    hub_.changed.wait(lock, [this] {
      for (ThreadTransfer* const other : own_) other->moved();
      return moved();
    });
  }

 private:
  /// Done when all ranks have read it; the sent data may then be overwritten.
  bool moved() {
    hub_.check();
    if (meeting_.arrived < hub_.size) return false;
    if (!taken_) {
      take_(meeting_.sends);
      taken_ = true;
      ++meeting_.left;
      hub_.changed.notify_all();
    }
    return meeting_.left == hub_.size;
  }

  Hub& hub_;
  std::vector<ThreadTransfer*>& own_;  // started by this rank
  Meeting& meeting_;
  const Take take_;
  bool taken_ = false;
};

class ThreadRank : public train::Communicator {
 public:
  ThreadRank(Hub& hub, int rank) : hub_(hub), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return hub_.size; }

  std::unique_ptr<train::Transfer> start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override {
    return start(exchange, send->data(), [this, send, receive, bytes](const std::vector<const char*>& sends) {
      for (size_t r = 0; r < sends.size(); ++r)
        std::memcpy(static_cast<char*>(receive->data()) + static_cast<int64_t>(r) * bytes, sends[r] + rank_ * bytes,
                    static_cast<size_t>(bytes));
    });
  }

  std::unique_ptr<train::Transfer> start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override {
    const char* const own = static_cast<const char*>(send->data()) + (send == receive ? rank_ * bytes : 0);
    return start(gather, own, [send, receive, bytes](const std::vector<const char*>& sends) {
      take_all(sends, receive->data(), bytes);
    });
  }

  void all_gather(const void* send, void* receive, int64_t bytes) override {
    start(call, send, [receive, bytes](const std::vector<const char*>& sends) {
      take_all(sends, receive, bytes);
    })->wait();
  }

  void broadcast(void* data, int64_t bytes, int root) override {
    start(call, data, [data, bytes, root](const std::vector<const char*>& sends) {
      const char* const from = sends[static_cast<size_t>(root)];
      if (from != data && bytes > 0) std::memcpy(data, from, static_cast<size_t>(bytes));
    })->wait();
  }

 private:
  static void take_all(const std::vector<const char*>& sends, void* receive, int64_t bytes) {
    for (size_t r = 0; r < sends.size(); ++r) {
      char* const to = static_cast<char*>(receive) + static_cast<int64_t>(r) * bytes;
      if (to != sends[r] && bytes > 0) std::memcpy(to, sends[r], static_cast<size_t>(bytes));
    }
  }
  std::unique_ptr<train::Transfer> start(Kind kind, const void* send, ThreadTransfer::Take take) {
    return std::make_unique<ThreadTransfer>(hub_, own_, hub_.arrive(kind, started_[kind]++, rank_, send),
                                            std::move(take));
  }

  Hub& hub_;
  const int rank_;
  std::array<int64_t, kinds> started_{};
  std::vector<ThreadTransfer*> own_;
};

}  // namespace

void run_ranks(int count, const std::function<void(train::Communicator&)>& body) {
  Hub hub(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      try {
        ThreadRank here(hub, rank);
        body(here);
      } catch (...) {
        const std::lock_guard lock(hub.mutex);
        if (!hub.failure) hub.failure = std::current_exception();
        hub.changed.notify_all();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (hub.failure) std::rethrow_exception(hub.failure);
}

}  // namespace tape
