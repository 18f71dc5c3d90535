#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "net/doctor.hpp"
#include "report/table.hpp"

namespace weft::app {

int doctor(const DoctorOptions& options, Console& console) {
  using State = net::Finding::State;
  const auto findings = net::judge(net::look(options.port), options.port);
  std::size_t lacks = 0;
  report::Facts shown;
  for (const net::Finding& each : findings) {
    const char* const state = each.state == State::fine ? "fine" : each.state == State::note ? "note" : "lacks";
    lacks += each.state == State::lacks;
    if (options.json) {
      const auto text = [](const std::string& words) {
        return words.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(words);
      };
      const nlohmann::ordered_json record = {
          {"record", "doctor"},  {"version", 1},          {"check", each.check},          {"state", state},
          {"found", each.found}, {"why", text(each.why)}, {"command", text(each.command)}};
      console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
      continue;
    }
    shown.add(fmt::format("{:6} {}", state, each.check), each.found);
    if (!each.why.empty()) shown.add("", each.why);
    if (!each.command.empty()) shown.add("", "$ " + each.command);
  }
  console.out << shown.text(console.width, false);
  if (!options.json)
    console.out << (lacks == 0 ? "This machine lacks nothing.\n"
                               : "What was set with sysctl is gone after a restart: lines of /etc/sysctl.d stay.\n");
  return lacks == 0 ? kFine : kExpectationFailed;
}

}  // namespace weft::app
