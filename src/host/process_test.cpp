#include "host/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::host {
namespace {

// More than a pipe holds, with an end that is told from its middle.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i) + "\n";
  return text + "the end";
}

TEST(Process, ReadsAllItsInputAndSaysAllItsOutput) {
  for (const std::string& text : {std::string(), std::string("x"), long_text()}) {
    const Finished finished = run({.arguments = {"cat"}, .netns = "", .input = text});
    EXPECT_EQ(finished.code, 0);
    EXPECT_TRUE(finished.text == text) << finished.text.size() << " of " << text.size() << " bytes";
  }
}

TEST(Process, SaysHowItEnded) {
  const auto code = [](const std::string& script) {
    return run({.arguments = {"sh", "-c", script}, .netns = "", .input = ""}).code;
  };
  EXPECT_EQ(code("exit 0"), 0);
  EXPECT_EQ(code("exit 3"), 3);
  EXPECT_EQ(code("kill -9 $$"), 128 + SIGKILL);
  EXPECT_EQ(run({.arguments = {"/nowhere/program"}, .netns = "", .input = ""}).code, 127);
  EXPECT_EQ(run({.arguments = {"true"}, .netns = "/nowhere/namespace", .input = ""}).code, 127);
}

TEST(Process, KeepsErrorsApartWhereThatIsAsked) {
  Command command{.arguments = {"sh", "-c", "echo out; echo err >&2"}, .netns = "", .input = ""};
  const Finished together = run(command);
  EXPECT_EQ(together.text, "out\nerr\n");
  EXPECT_EQ(together.errors, "");
  command.errors_apart = true;
  const Finished apart = run(command);
  EXPECT_EQ(apart.text, "out\n");
  EXPECT_EQ(apart.errors, "err\n");
}

TEST(Process, HasTheCallersEnvironmentWithWhatIsSaidAnew) {
  ::setenv("WEFT_TEST_KEPT", "kept", 1);
  ::setenv("WEFT_TEST_SAID", "old", 1);
  ::setenv("WEFT_TEST_SAID_TOO", "another", 1);
  const Finished finished =
      run({.arguments = {"env"}, .netns = "", .input = "", .environment = {"WEFT_TEST_SAID=new"}});
  std::vector<std::string> mine;
  std::istringstream lines(finished.text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("WEFT_TEST_")) mine.push_back(line);
  std::sort(mine.begin(), mine.end());
  EXPECT_EQ(mine,
            (std::vector<std::string>{"WEFT_TEST_KEPT=kept", "WEFT_TEST_SAID=new", "WEFT_TEST_SAID_TOO=another"}));
}

TEST(Process, ManyAnswerInTheirOrder) {
  std::vector<Command> commands;
  for (int i = 0; i < 7; ++i)
    commands.push_back({.arguments = {"sh", "-c", "echo " + std::to_string(i) + "; exit " + std::to_string(i)},
                        .netns = "",
                        .input = ""});
  std::vector<std::size_t> told;
  const std::vector<Finished> all = run_all(commands, 3, [&](std::size_t done) { told.push_back(done); });
  ASSERT_EQ(all.size(), 7u);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(all[static_cast<std::size_t>(i)].code, i);
    EXPECT_EQ(all[static_cast<std::size_t>(i)].text, std::to_string(i) + "\n");
  }
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Process, OneThatGoesOnWritesBehindWhatItsLogHas) {
  std::string name = (std::filesystem::temp_directory_path() / "weft-host-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(name.data());
  const std::string log = directory / "log";
  std::ofstream(log) << "before\n";
  const pid_t pid = start({.arguments = {"sh", "-c", "echo out; echo err >&2; cat"}, .netns = "", .input = ""}, log);
  ASSERT_GT(pid, 0);
  EXPECT_EQ(::getsid(pid), pid) << "a terminal's signals are not for it";
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  EXPECT_EQ(text.str(), "before\nout\nerr\n");
  EXPECT_EQ(start({.arguments = {"true"}, .netns = "", .input = ""}, directory / "no" / "log"), -1);
  std::filesystem::remove_all(directory);
}

TEST(Process, WhatIsInstalledIsFoundByNameOrPath) {
  EXPECT_TRUE(is_installed("sh"));
  EXPECT_TRUE(is_installed("/bin/sh"));
  EXPECT_FALSE(is_installed("no-such-program-of-weft"));
  EXPECT_FALSE(is_installed("/bin/no-such-program-of-weft"));
  EXPECT_FALSE(is_installed("/proc/self/status")) << "it is no program";
}

TEST(Process, SaysWhyItCannotBecomeAnother) {
  EXPECT_EQ(become({"/nowhere/program"}), "cannot run /nowhere/program: No such file or directory");
}

}  // namespace
}  // namespace weft::host
