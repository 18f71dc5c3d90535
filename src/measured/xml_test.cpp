#include "measured/xml.hpp"

#include <gtest/gtest.h>

namespace weft::measured {
namespace {

std::string error_of(const std::string& text) {
  spec::Diagnostics diagnostics;
  EXPECT_FALSE(read_xml(diagnostics.sources().add("t.xml", text), diagnostics));
  return spec::render_text(diagnostics, false);
}

TEST(Xml, KnowsWhereEverythingStands) {
  spec::Diagnostics diagnostics;
  const auto document = read_xml(
      diagnostics.sources().add("t.xml", "<!-- a p5 -->\n<a x=\"1\"\n   y = '2 &gt; 1'>\n  <b/>\n</a>\n"), diagnostics);
  ASSERT_TRUE(document) << spec::render_text(diagnostics, false);
  EXPECT_EQ(document->comments, " a p5 \n");
  EXPECT_EQ(document->root.name, "a");
  EXPECT_EQ(document->root.place.line, 2U);
  EXPECT_EQ(document->root.place.column, 2U);
  const XmlAttribute* x = document->root.find("x");
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->place.column, 7U);
  const XmlAttribute* y = document->root.find("y");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->value, "2 > 1");
  EXPECT_EQ(y->place.line, 3U);
  EXPECT_EQ(y->place.column, 9U);
  EXPECT_EQ(y->place.length, 8U);
  ASSERT_EQ(document->root.children.size(), 1U);
  EXPECT_EQ(document->root.children[0].place.line, 4U);
  EXPECT_EQ(document->root.find("z"), nullptr);
}

TEST(Xml, SaysWhatIsOpen) {
  EXPECT_EQ(error_of("<a>\n  <b>\n  </a>\n"),
            "t.xml:3:5: error E0701: this closes something else than <b> of line 2\n"
            "  3 |   </a>\n"
            "    |     ^\n"
            "  = </b>\n"
            "1 error; `weft explain E0701` says more\n");
  EXPECT_NE(error_of("<a>\n  <b>\n").find("the file ends inside <b> of line 2"), std::string::npos);
  EXPECT_NE(error_of("<a x='1' x='2'/>").find("stands twice"), std::string::npos);
  EXPECT_NE(error_of("").find("E0701"), std::string::npos);
  EXPECT_NE(error_of("version: 1\n").find("E0701"), std::string::npos);
}

TEST(Xml, RefusesEntitiesBeforeTheyGrow) {
  std::string bomb = "<!DOCTYPE a [<!ENTITY x0 \"ha\">";
  for (int i = 1; i < 30; ++i)
    bomb += "<!ENTITY x" + std::to_string(i) + " \"&x" + std::to_string(i - 1) + ";&x" + std::to_string(i - 1) + ";\">";
  EXPECT_NE(error_of(bomb + "]><a>&x29;</a>").find("a document type is declared"), std::string::npos);
}

TEST(Xml, HasALimitOnDepthAndElements) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_NE(error_of(deep).find("nested more than 32 levels"), std::string::npos);
  std::string wide = "<a>";
  for (int i = 0; i < 60'000; ++i) wide += "<b/>";
  EXPECT_NE(error_of(wide + "</a>").find("more than 50,000 elements"), std::string::npos);
}

}  // namespace
}  // namespace weft::measured
