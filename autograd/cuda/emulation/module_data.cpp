#include "autograd/cuda/emulation/module_data.h"

#include <link.h>

#include <algorithm>

#include <cstdint>
#include <map>
#include <memory>

#include "autograd/cuda/emulation/source_line.h"
#include "base/error.h"

namespace tape::cuda_device::emulation {
namespace {

/// A range of addresses.
struct AddressRange {
  uintptr_t begin = 0, end = 0;
  bool contains(uintptr_t address) const { return address >= begin && address < end; }
};

/// A loaded program or library.
struct LoadedModule {
  uintptr_t address = 0;  // within it
  bool found = false;
  AddressRange segment;    // that contains the address
  bool writable = false;   // whether the segment is
  AddressRange relocated;  // constants with addresses, which are read-only after loading
  AddressRange data;       // the writable segment
};

int inspect_module(dl_phdr_info* info, size_t, void* into) {
  LoadedModule& module = *static_cast<LoadedModule*>(into);
  LoadedModule candidate;
  candidate.address = module.address;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    const AddressRange range{begin, begin + header.p_memsz};
    if (header.p_type == PT_GNU_RELRO) candidate.relocated = range;
    if (header.p_type != PT_LOAD) continue;
    if (header.p_flags & PF_W) {
      candidate.data.begin = candidate.data.end ? std::min(candidate.data.begin, begin) : begin;
      candidate.data.end = std::max(candidate.data.end, range.end);
    }
    if (!range.contains(module.address)) continue;
    candidate.found = true;
    candidate.segment = range;
    candidate.writable = header.p_flags & PF_W;
  }
  if (!candidate.found) return 0;
  module = candidate;
  return 1;
}

LoadedModule find_module(const void* address) {
  LoadedModule module;
  module.address = reinterpret_cast<uintptr_t>(address);
  dl_iterate_phdr(inspect_module, &module);
  return module;
}

}  // namespace

Region& module_data(const void* code) {
  static auto* regions = new std::map<const void*, Region*>;  // by kernel
  static auto* by_begin = new std::map<uintptr_t, std::unique_ptr<Region>>;
  Region*& known = (*regions)[code];
  if (known) return *known;
  const LoadedModule module = find_module(code);
  if (!module.found) raise(ErrorKind::device, "emulated device: a kernel that belongs to no loaded program or library");
  uintptr_t begin = module.data.begin;
  if (module.relocated.contains(begin)) begin = module.relocated.end;
  begin = begin / Region::kWord * Region::kWord;
  auto& region = (*by_begin)[begin];
  if (!region) {
    region = std::make_unique<Region>(reinterpret_cast<void*>(begin), module.data.end - begin, true);
    // Otherwise variables exist from their first use on (Shadow::find_shared_variable).
    if (!has_variables(code)) region->set_exists(reinterpret_cast<void*>(begin), module.data.end - begin, true);
  }
  return *(known = region.get());
}

bool is_read_only_data(const void* address) {
  static AddressRange last;  // most accesses are to the same constants
  const auto value = reinterpret_cast<uintptr_t>(address);
  if (last.contains(value)) return true;
  const LoadedModule module = find_module(address);
  if (!module.found) return false;
  if (module.relocated.contains(value)) {
    last = module.relocated;
  } else if (!module.writable) {
    last = module.segment;
  } else {
    return false;
  }
  return true;
}

}  // namespace tape::cuda_device::emulation
