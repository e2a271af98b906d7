#include "inspect/web_page.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"

namespace tape::inspect {
namespace {

TEST(JsonForHtml, EscapesHtml) {
  EXPECT_EQ(json_for_html({{"a", "</script><!-- & \u2028\u2029 é"}}),
            R"({"a":"\u003c/script\u003e\u003c!-- \u0026 \u2028\u2029 é"})");
  EXPECT_EQ(json_for_html({{"<b>", 1.5}}), R"({"\u003cb\u003e":1.5})") << "keys too";
  EXPECT_EQ(json_for_html("\u2027\u202a"), "\"\u2027\u202a\"") << "adjacent code points are unchanged";
  EXPECT_EQ(json_for_html("a\xff"), "\"a\uFFFD\"");
  EXPECT_EQ(json_for_html(std::string("a\0b", 3)), R"("a\u0000b")");
}

TEST(JsonForHtml, ParsesToTheSameJson) {
  const nlohmann::ordered_json data = {{"text", "<>&\u2028\u2029\\u003c"}, {"list", {1, 2.5, nullptr}}};
  EXPECT_EQ(nlohmann::ordered_json::parse(json_for_html(data)), data);
}

TEST(WebPage, ContainsTheDataAndLoadsNothing) {
  const std::string page = web_page("run_report.html", {{"steps", "</script>"}});
  for (const char* there :
       {R"(<script type="application/json" id="data">{"steps":"\u003c/script\u003e"}</script>)",
        R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-)",
        // licenses of the bundled libraries
        "d3-shape 3.2.", "Mike Bostock", "Permission to use, copy, modify, and/or distribute this software"})
    EXPECT_NE(page.find(there), std::string::npos) << there;
  for (const char* loaded : {"@data@", " src=", "@import", "url(h", "<link rel=\"stylesheet"})
    EXPECT_EQ(page.find(loaded), std::string::npos) << loaded;
  EXPECT_TAPE_ERROR(web_page("other.html", {}), ErrorKind::config, "other.html: no page of that name");
}

}  // namespace
}  // namespace tape::inspect
