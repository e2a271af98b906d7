#pragma once

#include <string_view>
#include <vector>

namespace tape {

/// The names of the modules on a path, outermost first; a number belongs to the name of its list, as one of its modules
/// is a child of the list's owner: "encoder.layers.0.norm1" -> "encoder", "layers.0", "norm1". They point into `path`.
std::vector<std::string_view> split_module_path(std::string_view path);

/// The paths of the modules that a path lies in, outermost first, itself the last: "encoder", "encoder.layers.0",
/// "encoder.layers.0.norm1". They point into `path`.
std::vector<std::string_view> modules_around(std::string_view path);

/// Whether a path is that of the module or of something in it: "layers.10" does not lie in "layers.1".
bool lies_in(std::string_view path, std::string_view module);

/// Whether a path, or that of a module that it lies in, is what a pattern says, in which * stands for any letters:
/// "decoder.layers.1.norm1" fits "decoder.layers.*" and "*.1", not "decoder.layer".
bool fits_pattern(std::string_view path, std::string_view pattern);

}  // namespace tape
