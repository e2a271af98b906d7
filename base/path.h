#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tape {

// The parts of std::filesystem that the library uses. They throw Error (io) `path: cannot action: system's text`, never
// std::filesystem::filesystem_error, which would reach the caller as an unexpected exception.

/// "folder/name".
std::string join_path(std::string_view folder, std::string_view name);

/// Whether a path leads to anything; links are followed. A missing file or folder is no error; a folder without
/// permission, a loop of links or a name that is too long is.
bool path_exists(const std::string& path);
/// Whether it leads to a folder. Errors as path_exists().
bool is_folder(const std::string& path);

/// Bytes of a regular file.
int64_t file_bytes(const std::string& path);

/// The names in a folder, sorted.
std::vector<std::string> folder_entries(const std::string& folder);

/// Removes a file, a link or an empty folder; nothing where there is none.
void remove_path(const std::string& path);
/// Removes a folder with everything in it; links are removed, not followed.
void remove_tree(const std::string& path);
void rename_path(const std::string& from, const std::string& to);

/// The path without links, `.` and `..`, as far as it exists; what does not exist stays as it is named.
std::string canonical_path(const std::string& path);
/// Whether `path` is `folder` or lies in it, by their canonical paths.
bool lies_in(const std::string& path, const std::string& folder);

// std::filesystem's directory_iterator and remove_all() end the program where memory runs out (they allocate in a
// function that is noexcept); these throw std::bad_alloc.

/// The names of what lies in a folder, sorted, without "." and "..". Empty, with the reason in `failed`, where it
/// cannot be read.
std::vector<std::string> folder_names(const std::string& path, std::error_code& failed);
/// Removes a file, a link (not what it leads to) or a folder with all that lies in it. Nothing happens where there is
/// none; the first reason why something stays is in `failed`.
void remove_all(const std::string& path, std::error_code& failed);

/// Makes a folder of its own in TMPDIR, or in /tmp where that is not set.
std::string make_temporary_folder();

/// The path of a file of a model folder, a tokenizer or a run. Files of a folder may come from a stranger, so that a
/// link among them is followed only where it ends in the same folder, or in the blobs of the same entry of the Hugging
/// Face cache (ENTRY/snapshots/REVISION/name -> ENTRY/blobs/HASH). Error (format) for any other link:
/// `path: is a link that leaves the folder; copy the file there`. A missing file is no error.
std::string file_in_folder(const std::string& folder, std::string_view name);
/// Whether the folder has the file. Errors as path_exists() and file_in_folder().
bool folder_has(const std::string& folder, std::string_view name);

}  // namespace tape
