#pragma once

#include <string_view>
#include <vector>

namespace tape {

/// Splits a path into module names, outermost first. A list index stays with the name of its list, since the element
/// is a child of the list's owner: "encoder.layers.0.norm1" -> "encoder", "layers.0", "norm1". The results point into
/// `path`.
std::vector<std::string_view> split_module_path(std::string_view path);

/// Returns the paths of all enclosing modules, outermost first, ending with `path` itself: "encoder",
/// "encoder.layers.0", "encoder.layers.0.norm1". The results point into `path`.
std::vector<std::string_view> enclosing_modules(std::string_view path);

/// Whether `path` is `module` or inside it. "layers.10" is not inside "layers.1".
bool is_in_module(std::string_view path, std::string_view module);

/// Whether `path` or an enclosing module matches a pattern in which * matches any characters: "decoder.layers.1.norm1"
/// matches "decoder.layers.*" and "*.1", but not "decoder.layer".
bool matches_pattern(std::string_view path, std::string_view pattern);

}  // namespace tape
