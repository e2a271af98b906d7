#pragma once

#include <vector>

namespace tape {

/// Intrusive list of registered static objects, in order of registration. It allocates nothing and needs no dynamic
/// initialization or destruction, because objects register before main(), where an exception would end the program,
/// and unregister at exit. T needs a member `mutable const T* next_registered_`, used only by the list.
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
  /// The link that points to `item`, or the last link, which is null.
  const T** link_to(const T* item) {
    const T** link = &first_;
    while (*link && *link != item) link = &(*link)->next_registered_;
    return link;
  }

  const T* first_ = nullptr;
};

}  // namespace tape
