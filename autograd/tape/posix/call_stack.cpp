#include "autograd/tape/call_stack.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#ifdef TAPE_HAVE_BACKTRACE
#include <backtrace.h>
#endif

#include <fmt/format.h>

namespace tape {
namespace {

/// A source location: file and line if there is debug information, and a mangled function name.
struct Place {
  std::string file;
  int line = 0;
  std::string function;
};

/// Whether a mangled name belongs to this library or the standard library: _Z, then letters that open scopes and
/// qualify (Z, N, K, V, R, O), then the outermost namespace.
bool is_ours(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return false;
  mangled.remove_prefix(std::min(mangled.find_first_not_of("ZNKVRO", 2), mangled.size()));
  for (std::string_view scope : {"4tape", "St", "Sa", "Ss", "9__gnu_cxx"})
    if (mangled.starts_with(scope)) return true;
  return false;
}

/// Whether an address lies in the shared object of this component or of another one.
bool in_library(void* address) {
  Dl_info here{}, there{}, program{};
  static const int anchor = 0;
  if (!dladdr(&anchor, &here) || !dladdr(address, &there)) return false;
  // A static library is part of the program, so only names distinguish the two.
  const bool is_program = dladdr(dlsym(RTLD_DEFAULT, "main"), &program) && program.dli_fbase == here.dli_fbase;
  if (is_program) return false;
  const std::string_view file = there.dli_fname;
  return here.dli_fbase == there.dli_fbase || file.substr(file.rfind('/') + 1).starts_with("libtapeformer");
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return text ? text.get() : name;
}

#ifdef TAPE_HAVE_BACKTRACE

void ignore_error(void*, const char*, int) {}

backtrace_state* debug_information() {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  return state;
}

int see_place(void* found, uintptr_t, const char* file, int line, const char* function) {
  static_cast<std::vector<Place>*>(found)->push_back({file ? file : "", line, function ? function : ""});
  return 0;
}

void see_symbol(void* found, uintptr_t, const char* name, uintptr_t, uintptr_t) {
  if (name) *static_cast<std::string*>(found) = name;
}

/// The source locations of an address, innermost first; several if functions were inlined.
std::vector<Place> places_of(void* address) {
  // A return address may already belong to the next line.
  const uintptr_t call = reinterpret_cast<uintptr_t>(address) - 1;
  std::vector<Place> places;
  if (!debug_information()) return places;
  backtrace_pcinfo(debug_information(), call, see_place, ignore_error, &places);
  if (places.empty()) places.emplace_back();
  if (places.back().function.empty())
    backtrace_syminfo(debug_information(), call, see_symbol, ignore_error, &places.back().function);
  return places;
}

#else

std::vector<Place> places_of(void* address) {
  Dl_info symbol{};
  if (!dladdr(static_cast<char*>(address) - 1, &symbol) || !symbol.dli_sname) return {};
  return {{"", 0, symbol.dli_sname}};
}

#endif

}  // namespace

int call_stack(std::span<void*> addresses) { return backtrace(addresses.data(), static_cast<int>(addresses.size())); }

std::string caller_outside_library(std::span<void* const> addresses) {
  // Frames above the library's own belong to what it called, such as a sanitizer, and not to its caller.
  bool inside = false;
  for (void* const address : addresses) {
    if (in_library(address)) {
      inside = true;
      continue;
    }
    for (const Place& place : places_of(address)) {
      const bool ours = is_ours(place.function);
      inside = inside || ours;
      if (!inside || ours || place.function.empty()) continue;
      return place.file.empty() ? demangled(place.function) : fmt::format("{}:{}", place.file, place.line);
    }
  }
  return "";
}

}  // namespace tape
