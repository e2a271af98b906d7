#pragma once

#include <nlohmann/json_fwd.hpp>

#include "explorer.h"

namespace tape::inspect {

/// What write_page() puts into its page, as inspect/web/explorer/data.ts describes it. Errors as write_page's.
nlohmann::ordered_json explorer_data(const Study& study, const PageOptions& options = {});

/// The page of data that are there.
void write_page(const std::string& path, const nlohmann::ordered_json& data);

}  // namespace tape::inspect
