#include "autograd/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace tape {
namespace {

constexpr int64_t kPage = 4096;
/// What is left of a split block below this stays with it.
constexpr int64_t kSmallest = 256 << 10;

}  // namespace

Arena::Blocks::iterator Arena::insert_free(char* begin, Block block) {
  if (!block.cold) cached_ += block.bytes;
  free_.emplace(block.bytes, begin);
  return blocks_.insert_or_assign(begin, block).first;
}

void Arena::remove_free(Blocks::iterator found) {
  if (!found->second.cold) cached_ -= found->second.bytes;
  free_.erase({found->second.bytes, found->first});
  blocks_.erase(found);
}

Arena::Taken Arena::take(int64_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  const Taken taken = take_free(bytes);
  return taken.block ? taken : take_new(bytes);
}

Arena::Taken Arena::take_free(int64_t bytes) {
  const auto best = free_.lower_bound({bytes, nullptr});
  if (best == free_.end()) return {};
  char* const begin = best->second;
  const Block whole = blocks_.at(begin);
  remove_free(blocks_.find(begin));
  int64_t taken = whole.bytes;
  if (whole.bytes - bytes >= kSmallest) {
    taken = bytes;
    insert_free(begin + bytes, {whole.bytes - bytes, true, whole.cold});
  }
  blocks_[begin] = {taken, false, false};
  return {begin, taken, whole.cold};
}

Arena::Taken Arena::take_new(int64_t bytes) {
  // A free block that ends where new memory begins is a part of it.
  const auto last_free = [this] {
    if (regions_.empty() || blocks_.empty()) return blocks_.end();
    const auto after = blocks_.lower_bound(regions_.back().top);
    if (after == blocks_.begin()) return blocks_.end();
    const auto last = std::prev(after);
    const bool ends_there = last->first + last->second.bytes == regions_.back().top;
    return last->second.free && ends_there ? last : blocks_.end();
  };
  auto joined = last_free();
  int64_t more = bytes - (joined == blocks_.end() ? 0 : joined->second.bytes);
  if (regions_.empty() || regions_.back().end - regions_.back().top < more) {
    if (!reserve(bytes)) return {};
    joined = blocks_.end();
    more = bytes;
  }
  Region& region = regions_.back();
  char* const begin = joined == blocks_.end() ? region.top : joined->first;
  if (joined != blocks_.end()) remove_free(joined);
  region.top += more;
  blocks_[begin] = {bytes, false, false};
  return {begin, bytes, true};
}

bool Arena::reserve(int64_t bytes) {
  for (int64_t size = std::max(bytes, region_bytes_); size >= bytes;
       size = size > bytes ? std::max(bytes, size / 2) : 0) {
    void* const begin = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) continue;
    // Large pages make the first touch several times cheaper; where refused, nothing is lost.
    madvise(begin, static_cast<size_t>(size), MADV_HUGEPAGE);
    regions_.push_back({static_cast<char*>(begin), static_cast<char*>(begin) + size});
    return true;
  }
  return false;
}

void Arena::give_back(void* block) {
  auto found = blocks_.find(static_cast<char*>(block));
  char* begin = found->first;
  Block joined{found->second.bytes, true, false};
  const auto next = std::next(found);
  if (next != blocks_.end() && next->second.free && begin + joined.bytes == next->first) {
    joined.bytes += next->second.bytes;
    remove_free(next);
  }
  if (found != blocks_.begin()) {
    const auto before = std::prev(found);
    if (before->second.free && before->first + before->second.bytes == begin) {
      blocks_.erase(found);
      begin = before->first;
      joined.bytes += before->second.bytes;
      remove_free(before);
    }
  }
  insert_free(begin, joined);
}

void Arena::trim() {
  for (auto& [begin, block] : blocks_) {
    if (!block.free || block.cold) continue;
    madvise(begin, static_cast<size_t>(block.bytes), MADV_DONTNEED);
    block.cold = true;
    cached_ -= block.bytes;
  }
}

}  // namespace tape
