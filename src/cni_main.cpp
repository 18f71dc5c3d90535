// weft-cni: a CNI plugin in two roles, called by a container runtime under the role's name (a link to this program),
// and the agent that keeps a server's bridges told what BGP says of tenants.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>

#include "cni/agent.hpp"
#include "cni/plugin.hpp"

namespace {

volatile bool agent_end = false;
void end_agent(int) { agent_end = true; }

constexpr const char* kHelp =
    "usage: ovs-provider | frr-provider              links to this program, called by a container runtime (CNI 1.0)\n"
    "       weft-cni agent [--state DIR] [--ovs DIR] [--frr DIR]   tells Open vSwitch whose addresses BGP announces\n";

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int agent(const std::vector<std::string>& words) {
  weft::cni::AgentOptions options{weft::cni::kStateFolder, weft::cni::kOvsFolder, weft::cni::kFrrFolder};
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const bool last = i + 1 == words.size();
    if (!last && words[i] == "--state")
      options.state = words[i + 1];
    else if (!last && words[i] == "--ovs")
      options.ovs = words[i + 1];
    else if (!last && words[i] == "--frr")
      options.frr = words[i + 1];
    else {
      std::cerr << kHelp;
      return 2;
    }
  }
  ::signal(SIGTERM, end_agent);
  ::signal(SIGINT, end_agent);
  const std::string failed = weft::cni::run_agent(options, agent_end);
  if (!failed.empty()) std::cerr << failed << "\n";
  return failed.empty() ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  if (name != "ovs-provider" && name != "frr-provider") {
    if (!words.empty() && words[0] == "agent") return agent(words);
    std::cerr << kHelp;
    return words.empty() || words[0] != "--help" ? 2 : 0;
  }
  // VERSION needs no stdin, and some runtimes give none; a person at a terminal would wait for nothing.
  const bool reads = variable("CNI_COMMAND") && variable("CNI_COMMAND") != "VERSION" && ::isatty(STDIN_FILENO) == 0;
  const std::string input = reads ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : "";
  const weft::cni::Reply reply =
      weft::cni::run_plugin(name == "ovs-provider" ? weft::cni::Role::ovs : weft::cni::Role::frr, variable, input);
  std::cout << reply.text << std::flush;
  return reply.exit_code;
}
