#include "autograd/cuda/emulation/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/module_data.h"
#include "autograd/cuda/emulation/report.h"
#include "autograd/cuda/emulation/source_line.h"
#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr size_t kDynamicBytes = 256 << 10;
constexpr unsigned kAllBytes = 0xF;
constexpr unsigned kThreadBits = 10, kAtomicBit = 1U << 14;
constexpr uint16_t kOneThread = 0, kSeveralLanes = 1, kSeveralWarps = 2;
constexpr size_t kMuch = 64 << 20;

/// Memory that is zero and uses physical memory only where it is touched.
template <class T>
T* map_zeros(size_t count) {
  void* const range =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    raise(ErrorKind::out_of_memory, "emulated device: the system refused {} bytes of addresses", count * sizeof(T));
  return static_cast<T*>(range);
}

size_t words_of(size_t bytes) { return (bytes + Region::kWord - 1) / Region::kWord; }

/// Calls edit(state, bytes of the word) for each word of a range.
template <class Edit>
void for_words(size_t offset, size_t bytes, Edit&& edit) {
  const size_t end = offset + bytes;
  for (size_t word = offset / Region::kWord; word * Region::kWord < end; ++word) {
    const size_t from = word * Region::kWord;
    unsigned mask = kAllBytes;
    if (from < offset) mask &= kAllBytes << (offset - from);
    if (from + Region::kWord > end) mask &= kAllBytes >> (from + Region::kWord - end);
    edit(word, mask & kAllBytes);
  }
}

unsigned thread_of(uint16_t who) { return who & ((1U << kThreadBits) - 1); }
unsigned bytes_of(uint16_t who) { return who >> kThreadBits & kAllBytes; }

/// The earlier access of a race.
struct Other {
  unsigned thread;
  bool same_block;
  uint32_t caller;
  const char* did;
};

/// "thread (5, 0, 0) wrote at softmax.cu:14".
std::string text_of_other(const Other& other, void* caller) {
  // It is in the same kernel, and therefore in the same half of the address space.
  const uintptr_t upper = reinterpret_cast<uintptr_t>(caller) >> 32 << 32;
  const SourceLine line = source_line(reinterpret_cast<void*>(upper | other.caller));
  std::string whose = "a thread of another block";
  if (other.same_block)
    whose = other.thread == static_cast<unsigned>(block_runner().current_index())
                ? "other threads"
                : "thread " + index_text(block_runner().threads()[other.thread].index);
  return fmt::format("{} {} at {}", whose, other.did, to_string(line));
}

const char* verb_of(Access access) {
  switch (access) {
    case Access::read:
      return "reads";
    case Access::write:
      return "writes";
    case Access::atomic:
      return "atomically updates";
  }
  return "?";
}

}  // namespace

Region::Region(void* begin, size_t bytes, bool shared)
    : begin_(static_cast<char*>(begin)),
      bytes_(bytes),
      shared_(shared),
      words_(map_zeros<Word>(words_of(bytes))),
      states_(map_zeros<uint8_t>(words_of(bytes))) {}

Region::~Region() {
  munmap(words_, words_of(bytes_) * sizeof(Word));
  munmap(states_, words_of(bytes_));
}

void Region::set_exists(const void* address, size_t bytes, bool exists) {
  for_words(offset(address), bytes, [&](size_t index, unsigned mask) {
    // New memory is unwritten, and freed memory too.
    states_[index] = static_cast<uint8_t>((states_[index] & ~(mask | mask << 4)) | (exists ? mask : 0));
  });
}

void Region::set_written(const void* address, size_t bytes) {
  for_words(offset(address), bytes,
            [&](size_t index, unsigned mask) { states_[index] = static_cast<uint8_t>(states_[index] | mask << 4); });
}

void Region::copy_written(const void* to, Region& source, const void* from, size_t bytes) {
  const size_t begin = offset(to), begin_of_source = source.offset(from);
  for (size_t i = 0; i < bytes; ++i) {
    const size_t a = begin_of_source + i, b = begin + i;
    const bool written = source.states_[a / kWord] >> (4 + a % kWord) & 1;
    const auto bit = static_cast<uint8_t>(1U << (4 + b % kWord));
    uint8_t& state = states_[b / kWord];
    state = static_cast<uint8_t>(written ? state | bit : state & ~bit);
  }
}

void Region::forget_accesses() { madvise(words_, words_of(bytes_) * sizeof(Word), MADV_DONTNEED); }

constinit Shadow access_checks;

void Shadow::start_launch(const Launch& launch) {
  static auto* const dynamic = new Region(map_zeros<char>(kDynamicBytes), kDynamicBytes, true);
  dynamic_ = dynamic;
  if (dynamic_bytes_ != launch.shared_bytes) {
    dynamic_->set_exists(dynamic_shared_memory(), dynamic_->bytes(), false);
    dynamic_->set_exists(dynamic_shared_memory(), launch.shared_bytes, true);
    dynamic_bytes_ = launch.shared_bytes;
  }
  module_ = &module_data(launch.kernel->code);
  if (device_memory()->used_bytes() > kMuch) device_->forget_accesses();
  constexpr uint32_t kLate = 1U << 31;
  if (time_ > kLate) {
    for (Region* region : {device_, module_, dynamic_}) region->forget_accesses();
    time_ = 0;
  }
  launch_time_ = ++time_;
}

void Shadow::start_block() {
  active_ = true;
  start_time_ = block_time_ = ++time_;
  warp_times_.fill(time_);
}

void* Shadow::dynamic_shared_memory() { return dynamic_->begin(); }

TAPE_INLINE Region* Shadow::find_region(void* address) {
  if (device_->contains(address)) return device_;
  if (module_->contains(address)) return module_;
  return dynamic_->contains(address) ? dynamic_ : nullptr;
}

/// Reports an access beyond the memory that exists, unless it is to a variable whose bounds are not known yet.
[[gnu::noinline, gnu::cold]] void Shadow::check_bounds(Region& region, Access access, void* address, void* caller) {
  if (&region == module_ && find_shared_variable(region, address)) return;
  fail(FaultKind::out_of_bounds, caller, [=, this, is_shared = region.shared()] {
    return fmt::format("{} {}", verb_of(access), place_of(address, is_shared));
  });
}

[[gnu::noinline, gnu::cold]] void Shadow::fail_unwritten(const Region& region, Access access, void* address,
                                                         void* caller) {
  fail(FaultKind::uninitialized_read, caller, [=, this, is_shared = region.shared()] {
    return fmt::format("{} {}, which was never written", verb_of(access), place_of(address, is_shared));
  });
}

/// Whether the program orders the current thread's access after the one in a slot.
TAPE_INLINE bool Shadow::is_ordered(const Region::Word& word, int slot) const {
  const auto i = static_cast<size_t>(slot);
  const uint32_t time = word.time[i];
  if (time < start_time_) return false;  // by another block
  if (time < block_time_) return true;
  const unsigned other = thread_of(word.who[i]), self = static_cast<unsigned>(block_runner().current_index());
  const bool atomic = slot == Region::Word::written && word.who[i] & kAtomicBit;
  if (atomic && word.updated_by == kSeveralWarps) return false;
  if (other / kWarp == self / kWarp && time < warp_times_[self / kWarp]) return true;
  return other == self && !(atomic && word.updated_by == kSeveralLanes);
}

[[gnu::noinline, gnu::cold]] void Shadow::fail_race(const Region& region, const Region::Word& word, int slot,
                                                    Access access, void* caller) {
  const auto i = static_cast<size_t>(slot);
  const uint16_t who = word.who[i];
  const Other other{thread_of(who), word.time[i] >= start_time_, word.caller[i],
                    slot != Region::Word::written ? "read"
                    : who & kAtomicBit            ? "updated atomically"
                                                  : "wrote"};
  fail(FaultKind::race, caller, [=, is_shared = region.shared()] {
    return fmt::format("{} {} memory that {}, with nothing between to order them", verb_of(access),
                       is_shared ? "shared" : "device", text_of_other(other, caller));
  });
}

/// Reports a race with an earlier access.
TAPE_INLINE void Shadow::check_slot(const Region& region, const Region::Word& word, int slot, unsigned bytes,
                                    Access access, void* caller) {
  const auto i = static_cast<size_t>(slot);
  const uint16_t who = word.who[i];
  if (word.time[i] < (region.shared() ? start_time_ : launch_time_) || !(bytes_of(who) & bytes)) return;
  if (access == Access::atomic && who & kAtomicBit) return;
  if (!is_ordered(word, slot)) [[unlikely]]
    fail_race(region, word, slot, access, caller);
}

/// Of many readers two are kept, so that whoever writes conflicts with at least one.
TAPE_INLINE void Shadow::remember_read(Region::Word& word, unsigned bytes, void* caller) {
  const auto self = static_cast<unsigned>(block_runner().current_index());
  size_t slot = Region::Word::also_read;
  for (const size_t candidate : {Region::Word::read, Region::Word::also_read}) {
    if (word.time[candidate] < block_time_) {
      slot = candidate;
      break;
    }
    if (thread_of(word.who[candidate]) == self) {
      slot = candidate;
      bytes |= bytes_of(word.who[candidate]);
      break;
    }
  }
  word.who[slot] = static_cast<uint16_t>(self | bytes << kThreadBits);
  word.time[slot] = time_;
  word.caller[slot] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(caller));
}

TAPE_INLINE void Shadow::remember(Region::Word& word, unsigned bytes, Access access, void* caller) {
  if (access == Access::read) {
    remember_read(word, bytes, caller);
    return;
  }
  const auto self = static_cast<unsigned>(block_runner().current_index());
  uint16_t& who = word.who[Region::Word::written];
  uint32_t& time = word.time[Region::Word::written];
  const unsigned other = thread_of(who);
  if (time >= block_time_ && other == self) bytes |= bytes_of(who);
  if (time < block_time_ || access != Access::atomic || !(who & kAtomicBit)) word.updated_by = kOneThread;
  if (time >= block_time_ && access == Access::atomic && who & kAtomicBit && other != self)
    word.updated_by = other / kWarp == self / kWarp ? std::max(word.updated_by, kSeveralLanes) : kSeveralWarps;
  who = static_cast<uint16_t>(self | bytes << kThreadBits | (access == Access::atomic ? kAtomicBit : 0));
  time = time_;
  word.caller[Region::Word::written] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(caller));
}

TAPE_INLINE void Shadow::access_word(Region& region, size_t index, unsigned bytes, Access access, void* address,
                                     void* caller) {
  Region::Word& word = region.word(index);
  uint8_t& state = region.state(index);
  if (region.shared() && word.time[Region::Word::written] < start_time_) state &= kAllBytes;
  if ((state & bytes) != bytes) [[unlikely]]
    check_bounds(region, access, address, caller);
  if (access != Access::write && (state >> 4 & bytes) != bytes) [[unlikely]]
    fail_unwritten(region, access, address, caller);
  check_slot(region, word, Region::Word::written, bytes, access, caller);
  if (access != Access::read) {
    check_slot(region, word, Region::Word::read, bytes, access, caller);
    check_slot(region, word, Region::Word::also_read, bytes, access, caller);
    state = static_cast<uint8_t>(state | bytes << 4);
  }
  remember(word, bytes, access, caller);
}

void Shadow::check_access(void* address, size_t bytes, Access access, void* caller) {
  Region* const region = find_region(address);
  if (!region) {
    if (is_read_only_data(address)) return;
    const bool null = reinterpret_cast<uintptr_t>(address) < 4096;
    fail(null ? FaultKind::out_of_bounds : FaultKind::host_pointer, caller, [=] {
      return fmt::format("{} {} bytes {}", verb_of(access), bytes, null ? "at a null pointer" : "of host memory");
    });
  }
  const size_t offset = region->offset(address);
  if (bytes == Region::kWord && offset % Region::kWord == 0) {
    access_word(*region, offset / Region::kWord, kAllBytes, access, address, caller);
    return;
  }
  for_words(offset, bytes,
            [&](size_t word, unsigned mask) { access_word(*region, word, mask, access, address, caller); });
}

/// Whether an address belongs to a variable of the kernel's module that is not yet known to exist.
bool Shadow::find_shared_variable(Region& region, const void* address) {
  const Variable variable = find_variable(address);
  if (variable.name.empty() || static_cast<const char*>(address) >= variable.begin + variable.bytes) return false;
  region.set_exists(variable.begin, variable.bytes, true);
  return (region.state(region.offset(address) / Region::kWord) & kAllBytes) != 0;
}

/// A piece of device memory or shared memory in words.
std::string Shadow::place_of(void* address, bool is_shared) const {
  if (!is_shared) return device_memory()->allocated().describe(address);
  if (!dynamic_->contains(address)) {
    const Variable variable = find_variable(address);
    if (variable.name.empty()) return "shared memory";
    return fmt::format("byte {} of {} bytes of shared memory \"{}\"", static_cast<char*>(address) - variable.begin,
                       variable.bytes, variable.name);
  }
  return fmt::format("byte {} of {} bytes of dynamic shared memory", dynamic_->offset(address), dynamic_bytes_);
}

void Shadow::fail(FaultKind kind, void* caller, std::function<std::string()> what) {
  report(kind, block_runner().current_index(), caller, std::move(what));
  what = nullptr;
  block_runner().abandon();
}

}  // namespace tape::cuda_device::emulation
