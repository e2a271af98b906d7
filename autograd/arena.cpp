#include "autograd/arena.h"

#include <algorithm>

#include "base/pages.h"

namespace tape {
namespace {

constexpr int64_t kPage = 4096;
/// A block is only split if the remainder is at least this large.
constexpr int64_t kSmallest = 256 << 10;
/// A free block larger than the request by this factor is not a close fit.
constexpr int64_t kMuchLarger = 8;

template <class Free>
typename Free::node_type new_free_node() {
  Free one{{0, nullptr}};
  return one.extract(one.begin());
}

}  // namespace

/// Removes a block from the free list and returns its list node.
Arena::Free::node_type Arena::remove_free(Block& block, char* begin) {
  if (!block.cold) cached_ -= block.bytes;
  return free_.extract({block.bytes, begin});
}

Arena::Taken Arena::take(int64_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  const Taken taken = take_free(bytes);
  return taken.block ? taken : take_new(bytes);
}

Arena::Taken Arena::take_free(int64_t bytes) {
  auto best = free_.lower_bound({bytes, nullptr});
  if (best == free_.end()) return {};
  // If even the best fit is much larger, take the lowest address: long-lived optimizer state would otherwise fragment
  // the space that the logits need in one piece.
  if (best->first / kMuchLarger >= bytes)
    best = std::min_element(best, free_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  char* const begin = best->second;
  Block& block = blocks_.at(begin);
  const bool cold = block.cold;
  const int64_t rest = block.bytes - bytes;
  // Allocate first: nothing below can fail.
  Free::node_type place_of_rest;
  if (rest >= kSmallest) {
    place_of_rest = new_free_node<Free>();
    blocks_.emplace(begin + bytes, Block{rest, true, cold});
  }
  block.place = remove_free(block, begin);
  block.free = block.cold = false;
  if (place_of_rest) {
    block.bytes = bytes;
    place_of_rest.value() = {rest, begin + bytes};
    free_.insert(std::move(place_of_rest));
    if (!cold) cached_ += rest;
  }
  return {begin, block.bytes, cold};
}

Arena::Taken Arena::take_new(int64_t bytes) {
  // Extend a free block that ends where the new memory begins.
  const auto last_free = [this] {
    if (regions_.empty() || blocks_.empty()) return blocks_.end();
    const auto after = blocks_.lower_bound(regions_.back().top);
    if (after == blocks_.begin()) return blocks_.end();
    const auto last = std::prev(after);
    const bool ends_there = last->first + last->second.bytes == regions_.back().top;
    return last->second.free && ends_there ? last : blocks_.end();
  };
  auto block = last_free();
  const int64_t more = bytes - (block == blocks_.end() ? 0 : block->second.bytes);
  if (regions_.empty() || regions_.back().end - regions_.back().top < more) {
    if (!reserve(bytes)) return {};
    block = blocks_.end();
  }
  Region& region = regions_.back();
  if (block == blocks_.end()) {
    block = blocks_.emplace(region.top, Block{0, false, false, new_free_node<Free>()}).first;
  } else {
    block->second.place = remove_free(block->second, block->first);
  }
  region.top = block->first + bytes;
  block->second.bytes = bytes;
  block->second.free = block->second.cold = false;
  return {block->first, bytes, true};
}

bool Arena::reserve(int64_t bytes) {
  regions_.reserve(regions_.size() + 1);
  for (int64_t size = std::max(bytes, region_bytes_); size >= bytes;
       size = size > bytes ? std::max(bytes, size / 2) : 0) {
    void* const begin = map_pages(size);
    if (!begin) continue;
    regions_.push_back({static_cast<char*>(begin), static_cast<char*>(begin) + size});
    return true;
  }
  return false;
}

/// Allocates nothing, since it is called where nothing may fail.
void Arena::give_back(void* block) {
  auto whole = blocks_.find(static_cast<char*>(block));
  Free::node_type place = std::move(whole->second.place);
  const auto next = std::next(whole);
  if (next != blocks_.end() && next->second.free && whole->first + whole->second.bytes == next->first) {
    whole->second.bytes += next->second.bytes;
    remove_free(next->second, next->first);
    blocks_.erase(next);
  }
  if (whole != blocks_.begin()) {
    const auto before = std::prev(whole);
    if (before->second.free && before->first + before->second.bytes == whole->first) {
      remove_free(before->second, before->first);
      before->second.bytes += whole->second.bytes;
      blocks_.erase(whole);
      whole = before;
    }
  }
  whole->second.free = true;
  whole->second.cold = false;
  cached_ += whole->second.bytes;
  place.value() = {whole->second.bytes, whole->first};
  free_.insert(std::move(place));
}

void Arena::trim() {
  for (auto& [begin, block] : blocks_) {
    if (!block.free || block.cold) continue;
    drop_pages(begin, block.bytes);
    block.cold = true;
    cached_ -= block.bytes;
  }
}

}  // namespace tape
