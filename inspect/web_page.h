#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// A page of inspect/web/, with its scripts, styles and licences in it, that shows the data: one self-contained HTML
/// file that loads nothing.
///
/// name: the page's file in inspect/web/dist/, "run_report.html" for example. The data stand in it as JSON in which no
/// character means anything to HTML (json_for_html).
std::string web_page(std::string_view name, const nlohmann::ordered_json& data);

/// JSON that may stand inside a script element: <, >, &, U+2028 and U+2029 are written as \uXXXX, invalid UTF-8 as
/// U+FFFD.
std::string json_for_html(const nlohmann::ordered_json& data);

/// A built page as it is kept in inspect/web/dist/.
std::string_view web_asset(std::string_view name);

}  // namespace tape::inspect
