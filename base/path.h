#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tape {

// Wrappers for std::filesystem. They throw Error (io) `path: cannot action: system message` instead of
// std::filesystem::filesystem_error.

/// "folder/name".
std::string join_path(std::string_view folder, std::string_view name);

/// Whether a path exists, following links. A missing file or folder is not an error; a folder without permission, a
/// loop of links or an overlong name is.
bool path_exists(const std::string& path);
/// Whether a path is a folder, following links. Errors as for path_exists().
bool is_folder(const std::string& path);

/// Size of a regular file in bytes.
int64_t file_bytes(const std::string& path);

/// Names of the entries in a folder, sorted.
std::vector<std::string> folder_entries(const std::string& folder);

/// Removes a file, a link or an empty folder. Does nothing if the path does not exist.
void remove_path(const std::string& path);
/// Removes a folder and everything in it. Links are removed, not followed.
void remove_tree(const std::string& path);
void rename_path(const std::string& from, const std::string& to);

/// Resolves links, `.` and `..` in the part of the path that exists; the rest is appended unchanged.
std::string canonical_path(const std::string& path);
/// Whether `path` is `folder` or inside it, compared by canonical paths.
bool is_inside(const std::string& path, const std::string& folder);

// std::filesystem's directory_iterator and remove_all() terminate the program when memory runs out, because they
// allocate in a noexcept function. These throw std::bad_alloc.

/// Names of the entries in a folder, sorted, without "." and "..". Returns an empty list and sets `failed` if the
/// folder cannot be read.
std::vector<std::string> folder_names(const std::string& path, std::error_code& failed);
/// Removes a file, a link (not its target) or a folder with its content. Does nothing if the path does not exist.
/// `failed` is set to the first error.
void remove_all(const std::string& path, std::error_code& failed);

/// Returns the path of a file in a model, tokenizer or run folder. Such a folder may come from an untrusted source, so
/// a link is followed only if its target is in the same folder, or in the blobs of the same entry of the Hugging Face
/// cache (ENTRY/snapshots/REVISION/name -> ENTRY/blobs/HASH). Throws Error (format) for any other link:
/// `path: is a link that leaves the folder; copy the file there`. A missing file is not an error.
std::string file_in_folder(const std::string& folder, std::string_view name);
/// Whether the folder contains the file. Errors as for path_exists() and file_in_folder().
bool folder_has(const std::string& folder, std::string_view name);

}  // namespace tape
