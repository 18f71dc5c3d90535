#include "report/sim_records.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/testing_result.hpp"

namespace weft::report {
namespace {

using schedule::RunResult;

const RunInfo kInfo{.cluster = "acp",
                    .traffic = "permutation",
                    .version = "0.1",
                    .commit = "abc",
                    .configuration = 0xc0ffee,
                    .sample_interval = Duration(1'000'000)};

std::vector<nlohmann::json> lines(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

std::string sim_line(const RunResult& result) {
  std::ostringstream out;
  write_sim_record(kInfo, result, summarise(result), out);
  return out.str();
}

TEST(SimRecords, OneLineSaysWhatRanAndHowItWent) {
  RunResult result = sample_result();
  const auto record = lines(sim_line(result)).at(0);
  EXPECT_EQ(record["record"], "sim");
  EXPECT_EQ(record["version"], 1);
  EXPECT_EQ(record["configuration"], "0000000000c0ffee");
  EXPECT_EQ(record["digest"], "000000000000feed");
  EXPECT_EQ(record["seed"], 7);
  EXPECT_EQ(record["partial"], false);
  EXPECT_FALSE(record.contains("stopped_by"));
  EXPECT_EQ(record["flows"], 4);
  EXPECT_EQ(record["flows_done"], 3);
  EXPECT_EQ(record["end_ps"], 60'000'000);
  EXPECT_EQ(record["fct_max_ps"], 50'000'000);
  EXPECT_EQ(record["slowdown_max"], 2.5);
  EXPECT_EQ(record["lost"], 5);
  EXPECT_EQ(record["data_packets"], 733);
  EXPECT_EQ(record["peak_queue_bytes"], 120'000);
  EXPECT_EQ(record["peak_queue_at"], result.links[1].from + " to " + result.links[1].to);
  result.stopped_by = "ctrl-c";
  EXPECT_EQ(lines(sim_line(result)).at(0)["stopped_by"], "ctrl-c");
}

TEST(SimRecords, WhatIsNotKnownIsNull) {
  RunResult result = sample_result();
  result.flows = {result.flows[3]};
  const auto record = lines(sim_line(result)).at(0);
  EXPECT_TRUE(record["fct_p50_ps"].is_null());
  EXPECT_TRUE(record["slowdown_p50"].is_null());
  std::ostringstream out;
  write_flow_records(result, out);
  const auto flow = lines(out.str()).at(0);
  EXPECT_TRUE(flow["sent_ps"].is_null());
  EXPECT_TRUE(flow["slowdown"].is_null());
  EXPECT_EQ(flow["start_ps"], 30'000'000);
}

TEST(SimRecords, AFlowIsDoneOrFailedOrUnfinished) {
  const auto states = [](const RunResult& result) {
    std::ostringstream out;
    write_flow_records(result, out);
    std::vector<std::string> all;
    for (const auto& flow : lines(out.str())) all.push_back(flow["state"]);
    return all;
  };
  using States = std::vector<std::string>;
  RunResult result = sample_result();
  EXPECT_EQ(states(result), (States{"done", "done", "done", "failed"}));
  result.stopped_by = "time=60us";
  EXPECT_EQ(states(result), (States{"done", "done", "done", "unfinished"}));
  result.stopped_by = "";
  result.flows[3].start = schedule::kNotYet;
  EXPECT_EQ(states(result), (States{"done", "done", "done", "unfinished"})) << "it never began";
}

TEST(SimRecords, FlowsLinksAndSamplesAreLines) {
  RunResult result = sample_result();
  result.links[0].from = "odd\"name";
  std::ostringstream flows, links, samples;
  write_flow_records(result, flows);
  write_link_records(result, 1, links);
  write_sample_records(kInfo, result, samples);
  EXPECT_EQ(lines(flows.str()).size(), 4u);
  EXPECT_EQ(lines(flows.str())[2]["fct_ps"], 25'000'000);
  EXPECT_EQ(lines(flows.str())[2]["goodput_bps"], 320'000'000'000);
  ASSERT_EQ(lines(links.str()).size(), 1u);
  const auto link = lines(links.str())[0];
  EXPECT_EQ(link["from"], "odd\"name");
  EXPECT_EQ(link["utilisation"], 0.8);  // 2.4 MB at 400 Gb/s in 60 us
  EXPECT_EQ(link["mean_wait_ps"], 100'000);
  ASSERT_EQ(lines(samples.str()).size(), 4u);
  EXPECT_EQ(lines(samples.str())[0]["utilisation"], 1.0);
  EXPECT_EQ(lines(samples.str())[1]["dropped"], 2);
  EXPECT_EQ(lines(samples.str())[1]["lost"], 4);
}

TEST(SimRecords, CsvHasTheSameColumnsAndQuotesWhatNeedsIt) {
  RunResult result = sample_result();
  result.links[0].from = "a,b\"c";
  std::ostringstream flows, links, samples;
  write_flows_csv(result, flows);
  write_links_csv(result, links);
  write_samples_csv(kInfo, result, samples);
  EXPECT_EQ(
      flows.str().substr(0, flows.str().find("\n3,0")),
      "source,destination,bytes,start_ps,sent_ps,received_ps,fct_ps,unloaded_ps,slowdown,goodput_bps,stream,state\n"
      "0,5,1000000,0,40000000,39000000,40000000,20000000,2,200000000000,0,done\n"
      "0,6,1000000,10000000,60000000,59000000,50000000,20000000,2.5,160000000000,0,done");
  EXPECT_TRUE(flows.str().ends_with("3,1,1000000,30000000,,,,20000000,,,0,failed\n"));
  EXPECT_NE(links.str().find("\n\"a,b\"\"c\",spine1,400000000000,2400000,600,0.8,100000,90000,12,3,2,0,0,0\n"),
            std::string::npos)
      << links.str();
  EXPECT_TRUE(samples.str().starts_with(
      "time_ps,from,to,peak_queue_bytes,bytes,utilisation,marked,trimmed,dropped,packets,lost\n0,"))
      << samples.str();
}

}  // namespace
}  // namespace weft::report
