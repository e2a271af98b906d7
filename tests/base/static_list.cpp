#include "base/static_list.h"

#include <gtest/gtest.h>

namespace tape {
namespace {

struct Item {
  mutable const Item* next_registered_ = nullptr;
};
using Items = std::vector<const Item*>;

TEST(StaticList, ListsItemsInOrderUntilTheyAreRemoved) {
  const Item a, b, c, stranger;
  StaticList<Item> list;
  EXPECT_EQ(list.all(), Items{});
  list.add(a);
  list.add(b);
  list.add(c);
  EXPECT_EQ(list.all(), (Items{&a, &b, &c}));
  list.remove(b);
  list.remove(stranger);
  EXPECT_EQ(list.all(), (Items{&a, &c}));
  list.remove(c);
  list.remove(a);
  EXPECT_EQ(list.all(), Items{});
  list.add(c);
  EXPECT_EQ(list.all(), Items{&c});
}

}  // namespace
}  // namespace tape
