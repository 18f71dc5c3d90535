// The page for the meeting and the list of what has to be bought.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "golden.hpp"

namespace weft::golden {
namespace {

std::vector<nlohmann::json> records_of(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

TEST(Materials, CountsAreThoseOfCheck) {
  for (const std::string example : {"01-acp-2-nics", "04-rail-only", "05-p5-tor-clos", "06-nvl72-x8", "07-multi-plane",
                                    "08-two-sites", "09-dragonfly", "10-mixed-generations", "12-trn2-ultraserver"}) {
    const InDirectory here(kSource / "examples" / example);
    std::map<std::string, std::uint64_t> counted;
    for (const nlohmann::json& item : records_of(weft({"show", "bom", "--json"}).out)) {
      counted[item["part"]] += item["count"].get<std::uint64_t>();
      const bool says = !item["total_usd"].is_null() || !item["usd_per_hour"].is_null() || item["note"] != "";
      EXPECT_TRUE(says) << example << ": a hole that is not named: " << item;
    }
    const nlohmann::json check = records_of(weft({"check", "--json"}).out)[0];
    EXPECT_EQ(counted["server"], check["servers"]) << example;
    EXPECT_EQ(counted["NIC"], check["nics"]) << example;
    EXPECT_EQ(counted["switch"], check["switches"]) << example;
    for (const nlohmann::json& part : check["parts"]) {
      if (part["name"] == "cables") {
        EXPECT_EQ(counted["cable"], part["pieces"]) << example;
      }
    }
  }
}

TEST(Materials, AsCsvWithPricesAndHoles) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("c.weft.yaml") << "version: 1\n"
                                  "servers: {kind: hgx-h100, count: 4, purchase: $250k}\n"
                                  "fabric:\n"
                                  "  kind: tor-clos\n"
                                  "  servers_per_leaf: 2\n"
                                  "  spines: 2\n"
                                  "  parallel_links: 4\n"
                                  "  switch: {kind: tomahawk-5, purchase: $60k}\n"
                                  "  link: {rate: 400Gbps, cable: 2m, medium: dac}\n"
                                  "  spine_link: {rate: 800Gbps, cable: 30m}\n";
  const Outcome outcome = weft({"show", "bom", "--as", "csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "part,kind,for,rate_bps,length_m,count,power_each_w,each_usd,total_usd,usd_per_hour,note\n"
            "server,hgx-h100,8 x h100-sxm,,,4,10200.0,250000.0,1000000.0,,\n"
            "NIC,connectx-7,8 in each server,400000000000,,32,25.0,,,,in the server's price\n"
            "switch,tomahawk-5,leaf,800000000000,,2,913.0,60000.0,120000.0,,\n"
            "switch,tomahawk-5,spine,800000000000,,2,913.0,60000.0,120000.0,,\n"
            "module,fiber,leaf to spine,800000000000,,32,,,,,no price\n"
            "cable,dac,NIC to switch,400000000000,2.0,32,,,,,no price\n"
            "cable,fiber,leaf to spine,800000000000,30.0,16,,,,,no price\n");
  EXPECT_EQ(outcome.err, "to buy             $1,240,000\n"
                         "no price known of  32 cables (dac), 16 cables (fiber), 32 modules (fiber)\n");
  EXPECT_EQ(weft({"show", "bom", "--as", "svg"}).code, 2);
  EXPECT_EQ(weft({"show", "fabric", "--as", "csv"}).code, 2);
}

TEST(Report, IsOnePageOfWhatItsCommandsSay) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  const std::vector<std::string> small = {
      "--set", "servers.count=8", "--set", "fabric.scalable_unit=4", "--set", "name=<script>a & b</script>"};
  std::vector<std::string> arguments = {"report", "c.weft.yaml",       "--sizes", "1MiB,1GiB",
                                        "--vary", "fabric.spines=2,4", "-o",      "out"};
  arguments.insert(arguments.end(), small.begin(), small.end());
  const Outcome outcome = weft(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "wrote out/report.html\nwrote out/bom.csv\n");
  const std::string page = read("out/report.html");
  for (const char* part : {"The cluster", "<svg ", "What has to be bought", "What collectives get", "all_to_all",
                           "What if something breaks", "spine0,kind=blackhole", "Compared with", "spines=4 ",
                           "How far to trust it", "median error", "How it was made", "no price known", "message"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  for (const char* fetched : {"src=", "href=\"http", "url(", "@import"})
    EXPECT_EQ(page.find(fetched), std::string::npos);
  EXPECT_EQ(read("out/bom.csv").substr(0, 10), "part,kind,");

  // What stands there as bandwidth is what the command beside it prints.
  std::vector<std::string> again = {"sim", "c.weft.yaml", "--collective", "all_reduce", "--sizes", "1GiB", "--json"};
  again.insert(again.end(), small.begin(), small.end());
  const auto rows = records_of(weft(again).out);
  EXPECT_NE(page.find(fmt::format(">{:.2f}</td>", rows.back()["busbw_GBps"].get<double>())), std::string::npos);
}

TEST(Report, SaysWhatIsWrongBeforeItRuns) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  weft({"init", "c.weft.yaml"});
  EXPECT_EQ(weft({"report", "-"}).code, 2);
  EXPECT_EQ(weft({"report", "c.weft.yaml", "--limit", "wall=soon"}).code, 2);
  EXPECT_EQ(weft({"report", "none.weft.yaml"}).code, 2);
  const Outcome unwritable = weft({"report", "c.weft.yaml", "-o", "no/such/page.html"});
  EXPECT_EQ(unwritable.code, 3);
  EXPECT_NE(unwritable.err.find("no/such/page.html"), std::string::npos);
}

}  // namespace
}  // namespace weft::golden
