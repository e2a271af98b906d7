#pragma once

#include <set>
#include <string>

#include "run.h"

namespace tape::models {

/// The inputs of one run, checked as they are asked for.
class RunInputs {
 public:
  RunInputs(const nn::StateDict& given, const std::set<std::string>& known) : given_(given) {
    std::string names;
    for (const std::string& name : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    for (const auto& [name, tensor] : given)
      if (!known.contains(name))
        raise(ErrorKind::config, "run: unknown input \"{}\"; this model takes {}", name, names);
    for (const char* needed : {"input_ids", "pixel_values"})
      if (known.contains(needed) && !given.contains(needed))
        raise(ErrorKind::config, "run: input \"{}\" is missing", needed);
  }

  /// Undefined where it was not given.
  Tensor find(const std::string& name, int64_t rank = 2) const {
    const auto found = given_.find(name);
    if (found == given_.end()) return {};
    const Tensor& tensor = found->second;
    if (!is_integral(tensor.dtype()))
      raise(ErrorKind::dtype, "run: {} must be whole numbers (I64, I32 or U8), got {}", name,
            to_string(tensor.dtype()));
    if (tensor.rank() != rank)
      raise(ErrorKind::shape, "run: {} must be {}, got {}", name, rank == 1 ? "[B]" : "[B, T]",
            to_string(tensor.shape()));
    return tensor.to(i64);
  }

  /// Labels of whole texts, which may be values; undefined where none were given.
  Tensor labels() const {
    const auto found = given_.find("labels");
    if (found == given_.end() || is_floating(found->second.dtype()))
      return found == given_.end() ? Tensor() : found->second;
    return find("labels", found->second.rank() == 2 ? 2 : 1);
  }

  /// Hides where the mask of that name is 0; it must have the shape of the ids.
  Mask mask(const std::string& name, const Tensor& ids) const {
    const Tensor seen = find(name);
    if (!seen.defined()) return {};
    if (!(seen.shape() == ids.shape()))
      raise(ErrorKind::shape, "run: {} {} does not fit ids {}", name, to_string(seen.shape()), to_string(ids.shape()));
    return Mask::padding(seen, 0);
  }

 private:
  const nn::StateDict& given_;
};

}  // namespace tape::models
