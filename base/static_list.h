#pragma once

#include <vector>

namespace tape {

/// Registered objects of static storage, in the order in which they were made. The list needs no memory and has no
/// constructor or destructor that runs: objects register before main(), where an exception would end the program, and
/// leave at exit. T has a member `mutable const T* next_registered_`, which the list alone uses.
template <class T>
class StaticList {
 public:
  void add(const T& item) { *link_to(nullptr) = &item; }
  void remove(const T& item) {
    if (const T** link = link_to(&item); *link) *link = item.next_registered_;
  }
  std::vector<const T*> all() const {
    std::vector<const T*> items;
    for (const T* item = first_; item; item = item->next_registered_) items.push_back(item);
    return items;
  }

 private:
  /// The pointer that points at `item`, or else the last one, which points at nothing.
  const T** link_to(const T* item) {
    const T** link = &first_;
    while (*link && *link != item) link = &(*link)->next_registered_;
    return link;
  }

  const T* first_ = nullptr;
};

}  // namespace tape
