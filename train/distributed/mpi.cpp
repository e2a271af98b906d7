#include "train/distributed/mpi.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tape::train::mpi {
namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  raise(ErrorKind::io, "MPI: {}: {}", what, std::string(text.data(), static_cast<size_t>(length)));
}

/// A separate MPI communicator, so that its calls are matched only among themselves. MPI_Finalize frees it: freeing it
/// earlier is a collective call, and a rank that failed must not wait for the others.
class Channel {
 public:
  Channel() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &channel_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(channel_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  MPI_Comm get() const { return channel_; }

 private:
  MPI_Comm channel_ = MPI_COMM_NULL;
};

class MpiTransfer : public Transfer {
 public:
  MpiTransfer(Ref<Storage> send, Ref<Storage> receive) : send_(std::move(send)), receive_(std::move(receive)) {}
  ~MpiTransfer() override {
    if (request == MPI_REQUEST_NULL) return;
    // A collective cannot be cancelled, and other ranks may still write here: leak the memory.
    send_->retain();
    receive_->retain();
  }
  bool done() override {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }
  void wait() override { check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait"); }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  const Ref<Storage> send_, receive_;
};

/// MPI counts are ints. Counting in granules instead of bytes allows blocks of up to 128 GiB.
class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator() {
    check(MPI_Comm_rank(calls_.get(), &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(calls_.get(), &size_), "MPI_Comm_size");
    check(MPI_Type_contiguous(static_cast<int>(kGranule), MPI_BYTE, &granule_), "MPI_Type_contiguous");
    check(MPI_Type_commit(&granule_), "MPI_Type_commit");
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Transfer> start_all_to_all(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override {
    auto transfer = std::make_unique<MpiTransfer>(send, receive);
    const int count = granules(bytes);
    check(MPI_Ialltoall(send->data(), count, granule_, receive->data(), count, granule_, exchanges_.get(),
                        &transfer->request),
          "MPI_Ialltoall");
    return transfer;
  }

  std::unique_ptr<Transfer> start_all_gather(Ref<Storage> send, Ref<Storage> receive, int64_t bytes) override {
    auto transfer = std::make_unique<MpiTransfer>(send, receive);
    const int count = granules(bytes);
    const void* const from = send == receive ? MPI_IN_PLACE : send->data();
    check(MPI_Iallgather(from, count, granule_, receive->data(), count, granule_, gathers_.get(), &transfer->request),
          "MPI_Iallgather");
    return transfer;
  }

  void all_gather(const void* send, void* receive, int64_t bytes) override {
    in_pieces(bytes, [&](int64_t begin, int count) {
      if (begin == 0 && count == bytes) {
        check(MPI_Allgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, calls_.get()), "MPI_Allgather");
        return;
      }
      std::vector<char> pieces(static_cast<size_t>(count) * static_cast<size_t>(size_));
      check(MPI_Allgather(static_cast<const char*>(send) + begin, count, MPI_BYTE, pieces.data(), count, MPI_BYTE,
                          calls_.get()),
            "MPI_Allgather");
      for (int64_t rank = 0; rank < size_; ++rank)
        std::copy_n(pieces.data() + rank * count, count, static_cast<char*>(receive) + rank * bytes + begin);
    });
  }

  void broadcast(void* data, int64_t bytes, int root) override {
    in_pieces(bytes, [&](int64_t begin, int count) {
      check(MPI_Bcast(static_cast<char*>(data) + begin, count, MPI_BYTE, root, calls_.get()), "MPI_Bcast");
    });
  }

 private:
  static int granules(int64_t bytes) {
    TAPE_ASSERT(bytes >= 0 && bytes % kGranule == 0 && bytes / kGranule <= INT32_MAX);
    return static_cast<int>(bytes / kGranule);
  }
  /// Maximum size of one blocking call.
  template <class Body>
  static void in_pieces(int64_t bytes, Body&& body) {
    constexpr int64_t kPiece = int64_t{1} << 26;
    for (int64_t begin = 0; begin < bytes; begin += kPiece)
      body(begin, static_cast<int>(std::min(kPiece, bytes - begin)));
  }

  const Channel calls_, exchanges_, gathers_;
  MPI_Datatype granule_ = MPI_DATATYPE_NULL;
  int rank_ = 0, size_ = 1;
};

bool is_joined = false, initialized_here = false;

}  // namespace

std::shared_ptr<Communicator> join() {
  int running = 0, provided = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&running), "MPI_Initialized");
  if (running) {
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
    if (provided < MPI_THREAD_FUNNELED)
      raise(ErrorKind::config,
            "World: the program has initialized MPI without support for threads; call MPI_Init_thread with "
            "MPI_THREAD_FUNNELED instead of MPI_Init");
    is_joined = true;
    return std::make_shared<MpiCommunicator>();
  }
  // Open MPI's TCP transport sends a long message with a single write, and the reply that lets the other side start its
  // own queues behind it, so a link carries one direction at a time. Pieces of 128 KiB let both directions proceed at
  // once. Other MPI libraries ignore the variable.
  setenv("OMPI_MCA_btl_tcp_flags", "send,inplace,need-ack,need-csum", 0);
  // Kernels use threads, but only the thread that joined calls MPI.
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  is_joined = initialized_here = true;
  if (provided < MPI_THREAD_FUNNELED)
    raise(ErrorKind::io, "MPI: this MPI library does not support processes with several threads (MPI_THREAD_FUNNELED)");
  return std::make_shared<MpiCommunicator>();
}

MachineRanks machine_ranks() {
  MPI_Comm here = MPI_COMM_NULL;
  int count = 1, rank = 0;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), "MPI_Comm_split_type");
  check(MPI_Comm_size(here, &count), "MPI_Comm_size");
  check(MPI_Comm_rank(here, &rank), "MPI_Comm_rank");
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  std::vector<cpu_set_t> all(static_cast<size_t>(count));
  check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, here), "MPI_Allgather");
  check(MPI_Comm_free(&here), "MPI_Comm_free");
  const auto alike = std::ranges::count_if(all, [&mine](const cpu_set_t& set) { return CPU_EQUAL(&set, &mine); });
  return {.rank = rank, .sharing_cores = static_cast<int>(alike)};
}

void leave() noexcept {
  is_joined = false;
  if (initialized_here) MPI_Finalize();
}

void abort(int code) noexcept { MPI_Abort(MPI_COMM_WORLD, code); }

bool joined() { return is_joined; }

int rank() noexcept {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace tape::train::mpi
