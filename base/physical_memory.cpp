#include "base/physical_memory.h"

#include <unistd.h>

namespace tape {

int64_t physical_memory() { return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE); }

}  // namespace tape
