#include "report/page.hpp"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

TEST(Page, TextIsEscapedWhereverItStands) {
  const std::string hostile = "<script>alert(\"x\")</script>&'";
  Page page(hostile, hostile);
  page.figure(hostile, hostile);
  page.section(hostile);
  page.paragraph(hostile);
  page.remark(hostile);
  page.facts({{hostile, hostile}});
  page.table({{hostile}, {hostile, true}}, {{hostile, hostile}});
  page.picture("<svg></svg>", hostile);
  page.text(hostile);
  const std::string html = page.html();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;"), std::string::npos);
}

TEST(Page, NothingIsFetched) {
  Page page("a", "b");
  page.section("c");
  const std::string html = page.html();
  for (const char* word : {"http:", "https:", "src=", "url(", "@import", "<link"})
    EXPECT_EQ(html.find(word), std::string::npos) << word;
}

TEST(Page, SectionsAreLinkedToAndShortRowsFilled) {
  Page page("a", "b");
  page.section("first");
  page.section("second");
  page.table({{"x"}, {"y", true}, {"empty"}}, {{"1"}, {"2", "3", "-"}});
  const std::string html = page.html();
  EXPECT_NE(html.find("<a href=\"#s2\">second</a>"), std::string::npos);
  EXPECT_NE(html.find("<h2 id=\"s2\">second</h2>"), std::string::npos);
  EXPECT_EQ(html.find("<th>empty"), std::string::npos);
  EXPECT_NE(html.find("<tr><td>1</td><td class=\"n\"></td></tr>"), std::string::npos);
}

}  // namespace
}  // namespace weft::report
