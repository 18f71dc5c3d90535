#pragma once
// What is kept of a lab between commands, in a folder of its own:
//   journal       namespaces, each written before it is made: what `down` removes, and nothing else
//   lab.json      the plan
//   faults.json   what `fail` has broken
//   hosts         names of all devices
//   DEVICE/       its rendered files, FRR's sockets and logs

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lab/descriptor.hpp"
#include "lab/faults.hpp"
#include "lab/plan.hpp"

namespace weft::lab {

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

  bool save(const Plan& plan);
  Result<Plan, std::string> plan() const;
  bool save(const std::vector<Fault>& faults);
  std::vector<Fault> faults() const;

  // What is left of it: the folder.
  void remove();

 private:
  State(std::string name, std::filesystem::path folder, Descriptor lock)
      : name_(std::move(name)), folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::string name_;
  std::filesystem::path folder_;
  Descriptor lock_;
};

}  // namespace weft::lab
