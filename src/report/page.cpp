#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/markup.hpp"

namespace weft::report {
namespace {

// Custom properties are known to every browser that opens a page; the pictures in it carry colours of their own.
constexpr std::string_view kStyle = R"(
:root{--ground:#fff;--ink:#1c2127;--soft:#4a525c;--line:#d5dae1;--panel:#f5f7f9;--accent:#2563b0;--warn:#fff1df;--warn-line:#c2620c}
@media (prefers-color-scheme:dark){:root{--ground:#171b20;--ink:#e6e9ee;--soft:#b4bcc8;--line:#3a424d;--panel:#20252c;--accent:#6ea8fe;--warn:#3a250e;--warn-line:#f5a04c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:64rem;padding:2rem 1.25rem 4rem;background:var(--ground);color:var(--ink);font:15px/1.5 Inter,'Helvetica Neue',Arial,'Liberation Sans','DejaVu Sans',sans-serif}
h1{font-size:1.8rem;margin:0}
h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
p{margin:.5rem 0;max-width:48rem}
.soft{color:var(--soft)}
nav{font-size:.9rem;margin:1rem 0}
nav a{color:var(--accent);margin-right:1rem;text-decoration:none;white-space:nowrap}
.figures{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.2rem 0}
.figures div{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.6rem .9rem;min-width:9rem}
.figures b{display:block;font-size:1.25rem}
.figures span{color:var(--soft);font-size:.85rem}
.remark{background:var(--warn);border-left:4px solid var(--warn-line);padding:.5rem .8rem;border-radius:3px;max-width:none}
.wide{overflow-x:auto}
table{border-collapse:collapse;margin:.6rem 0;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:600;border-bottom:2px solid var(--line)}
.n{text-align:right;white-space:nowrap}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:.6rem 0}
dt{color:var(--soft)}
dd{margin:0}
pre{background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.7rem .9rem;overflow-x:auto;font:13px/1.45 'DejaVu Sans Mono',Menlo,Consolas,monospace}
figure{margin:1rem 0}
figure svg{max-width:100%;height:auto;border:1px solid var(--line);border-radius:6px}
figcaption{color:var(--soft);font-size:.85rem}
@page{margin:14mm}
@media print{body{max-width:none;padding:0;font-size:10.5pt}nav{display:none}h2{break-after:avoid}tr,figure,.figures div,.remark{break-inside:avoid}.wide{overflow:visible}table{font-size:8.5pt}th,td{padding:.2rem .35rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}figure svg{max-height:230mm}}
)";

}  // namespace

void Page::figure(const std::string& value, const std::string& what) {
  figures_ += fmt::format("<div><b>{}</b><span>{}</span></div>\n", markup_escaped(value), markup_escaped(what));
}

void Page::section(const std::string& title) {
  ++sections_;
  contents_ += fmt::format("<a href=\"#s{}\">{}</a>\n", sections_, markup_escaped(title));
  body_ += fmt::format("<h2 id=\"s{}\">{}</h2>\n", sections_, markup_escaped(title));
}

void Page::paragraph(const std::string& text) { body_ += fmt::format("<p>{}</p>\n", markup_escaped(text)); }

void Page::remark(const std::string& text) {
  body_ += fmt::format("<p class=\"remark\">{}</p>\n", markup_escaped(text));
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return;
  body_ += "<dl>\n";
  for (const auto& [name, value] : rows)
    body_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", markup_escaped(name), markup_escaped(value));
  body_ += "</dl>\n";
}

void Page::table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (i == 0 || std::any_of(rows.begin(), rows.end(), [&](const std::vector<std::string>& row) {
          return i < row.size() && !row[i].empty() && row[i] != "-";
        }))
      shown.push_back(i);
  body_ += "<div class=\"wide\"><table><thead><tr>";
  for (const std::size_t i : shown)
    body_ += fmt::format("<th{}>{}</th>", columns[i].number ? " class=\"n\"" : "", markup_escaped(columns[i].title));
  body_ += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    body_ += "<tr>";
    for (const std::size_t i : shown)
      body_ += fmt::format("<td{}>{}</td>", columns[i].number ? " class=\"n\"" : "",
                           markup_escaped(i < row.size() ? row[i] : ""));
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Page::picture(const std::string& svg, const std::string& caption) {
  body_ += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, markup_escaped(caption));
}

void Page::text(const std::string& preformatted) {
  body_ += fmt::format("<pre>{}</pre>\n", markup_escaped(preformatted));
}

std::string Page::html() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>{2}</style>\n</head>\n<body>\n"
      "<header><h1>{0}</h1>\n<p class=\"soft\">{1}</p></header>\n<nav>{3}</nav>\n<div class=\"figures\">\n{4}</div>\n"
      "{5}</body>\n</html>\n",
      markup_escaped(title_), markup_escaped(subtitle_), kStyle, contents_, figures_, body_);
}

}  // namespace weft::report
