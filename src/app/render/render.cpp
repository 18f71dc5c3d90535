#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/render/origin.hpp"
#include "app/render/rendered_tree.hpp"
#include "app/session.hpp"
#include "base/text.hpp"
#include "experiment/packet_config.hpp"
#include "render/render.hpp"

namespace weft::app {
namespace {

constexpr std::size_t kMostNamed = 20;  // files in an error

render::SwitchNumbers numbers_of(const Session& session) {
  return {Bytes(experiment::packet_config(session.cluster()).full_packet)};
}

int refuse(spec::Error error, std::string what, std::string help, const InputOptions& input, Console& console) {
  spec::Diagnostics diagnostics;
  diagnostics.add(error, {}, std::move(what), std::move(help));
  report(diagnostics, input, console);
  return kYourInput;
}

void print_files(const std::vector<render::File>& files, Console& console) {
  for (const render::File& file : files)
    console.out << fmt::format("{}==> {} <==\n{}", &file == &files.front() ? "" : "\n", file.path, file.text);
}

void record_files(const std::vector<render::File>& files, const RenderOptions& options, const render::Origin& origin,
                  Console& console) {
  for (const render::File& file : files) {
    nlohmann::ordered_json record = {
        {"record", "rendered"},      {"version", 1},           {"target", options.target},  {"path", file.path},
        {"bytes", file.text.size()}, {"weft", origin.version}, {"cluster", origin.cluster}, {"input", origin.digest}};
    if (options.output.empty()) record["text"] = file.text;
    console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
}

int write_files(const std::vector<render::File>& files, const RenderOptions& options, Console& console) {
  const TreeChange change = write_tree(options.output, options.target, files);
  if (!change.foreign.empty()) {
    const std::vector<std::string> named(
        change.foreign.begin(),
        change.foreign.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNamed, change.foreign.size())));
    const std::size_t more = change.foreign.size() - named.size();
    return refuse(spec::Error::not_ours,
                  fmt::format("not written by weft, or changed since, in {}: {}{}", options.output,
                              fmt::join(named, ", "), more > 0 ? fmt::format(" and {} more", more) : ""),
                  "nothing was written; move these away, or take another directory", options.input, console);
  }
  if (!change.failed.empty()) {
    console.err << change.failed << "\n";
    return kThisMachine;
  }
  std::string note;
  if (!change.unchanged.empty()) note += fmt::format(", {} as they were", change.unchanged.size());
  if (!change.removed.empty()) note += fmt::format(", {} removed that are no longer part of it", change.removed.size());
  console.err << fmt::format("wrote {} into {}{}\n", counted(static_cast<std::int64_t>(change.written.size()), "file"),
                             options.output, note);
  return kFine;
}

}  // namespace

std::vector<std::string> render_targets() { return enum_names<render::Target>(); }

int render(const RenderOptions& options, Console& console) {
  const auto target = parse_enum<render::Target>(options.target);
  if (!target)
    return refuse(spec::Error::not_a_choice, fmt::format("there is no target '{}'", options.target),
                  "targets are " + either(render_targets()), options.input, console);
  const Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  const render::Origin origin = origin_of(session, options.input);
  auto files = render::render(*target, session.fabric(), numbers_of(session), origin);
  if (!files) return refuse(spec::Error::not_rendered, files.error().what, files.error().help, options.input, console);
  if (!options.output.empty())
    if (const int code = write_files(*files, options, console); code != kFine) return code;
  if (options.input.json)
    record_files(*files, options, origin, console);
  else if (options.output.empty())
    print_files(*files, console);
  return kFine;
}

}  // namespace weft::app
