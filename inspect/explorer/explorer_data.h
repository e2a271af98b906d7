#pragma once

#include <nlohmann/json_fwd.hpp>

#include "explorer.h"

namespace tape::inspect {

/// Returns the data of write_page()'s page, in the format of inspect/web/explorer/data.ts. Throws what it throws.
nlohmann::ordered_json explorer_data(const Study& study, const PageOptions& options = {});

/// Writes the page of data made by explorer_data().
void write_page(const std::string& path, const nlohmann::ordered_json& data);

}  // namespace tape::inspect
