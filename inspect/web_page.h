#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// Returns a page of inspect/web/ that shows the data: one self-contained HTML file with its scripts, styles and
/// licenses, which loads nothing.
///
/// name: file name of the page in inspect/web/dist/, for example "run_report.html". The data is embedded with
/// json_for_html().
std::string web_page(std::string_view name, const nlohmann::ordered_json& data);

/// Returns JSON that is safe inside a script element: <, >, &, U+2028 and U+2029 become \uXXXX, invalid UTF-8 becomes
/// U+FFFD.
std::string json_for_html(const nlohmann::ordered_json& data);

/// Returns the contents of a page of inspect/web/dist/.
std::string_view web_asset(std::string_view name);

}  // namespace tape::inspect
