#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// Returns a page of inspect/web/ that shows the data: one self-contained HTML file with its scripts, styles and
/// licenses, which loads nothing.
///
/// name: file name of the page in inspect/web/dist/, for example "run_report.html". The data is embedded with
/// json_for_html(). A page whose data has a member "live" may run WebAssembly in a worker; see with_policy().
std::string web_page(std::string_view name, const nlohmann::ordered_json& data);

/// Replaces what inspect/web/build.mjs left in a page's content security policy, " live-script" and "; live-worker", by
/// what a page with the engine needs: 'wasm-unsafe-eval' to compile it and a worker from a blob; otherwise by nothing.
std::string with_policy(std::string html, bool live);

/// Returns JSON that is safe inside a script element: <, >, &, U+2028 and U+2029 become \uXXXX, invalid UTF-8 becomes
/// U+FFFD.
std::string json_for_html(const nlohmann::ordered_json& data);

/// Returns the contents of a page of inspect/web/dist/.
std::string_view web_asset(std::string_view name);

}  // namespace tape::inspect
