#pragma once
// What is kept of a lab between commands, in a folder of its own:
//   journal       namespaces, each written before it is made: what `down` removes, and nothing else
//   lab.json      the plan
//   faults.json   what `fail` has broken
//   pods.json     pods, each written before it is made
//   hosts         names of all devices and pods
//   DEVICE/       its rendered files, FRR's sockets and logs

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/descriptor.hpp"
#include "lab/faults.hpp"
#include "lab/plan.hpp"

namespace weft::lab {

// An interface of a pod on a rail: a veth pair in place of a virtual function and its representor.
struct PodInterface {
  std::string name;          // in the pod: net1
  std::uint32_t rail = 0;    // of the server's
  std::string function;      // pf1v0, while no pod has it
  std::string representor;   // pf1v0rep
  std::string address = {};  // empty until it has one
};

struct Pod {
  std::string name;
  std::string tenant;
  std::string server;
  std::vector<PodInterface> interfaces;
};

class State {
 public:
  // A new lab; the text says why there is none.
  static Result<State, std::string> create(const std::string& name);
  // One that is there, perhaps only half. Who changes it, alone.
  enum class Access { looking, changing };
  static Result<State, std::string> open(const std::string& name, Access access);
  static std::vector<std::string> labs();

  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path folder(const std::string& device) const { return folder_ / device; }
  std::filesystem::path hosts() const { return folder_ / "hosts"; }

  // Before anything of that name is made.
  bool journal(const std::vector<std::string>& namespaces);
  std::vector<std::string> namespaces() const;
  bool forget(const std::string& netns);  // that is gone

  bool save(const Plan& plan);
  Result<Plan, std::string> plan() const;
  bool save(const std::vector<Fault>& faults);
  std::vector<Fault> faults() const;
  bool save(const std::vector<Pod>& pods);
  std::vector<Pod> pods() const;

  // What is left of it: the folder.
  void remove();

 private:
  State(std::string name, std::filesystem::path folder, host::Descriptor lock)
      : name_(std::move(name)), folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::string name_;
  std::filesystem::path folder_;
  host::Descriptor lock_;
};

}  // namespace weft::lab
