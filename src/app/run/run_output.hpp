#pragma once
// What `weft run client` says: lines for people, a record, metrics for Prometheus.

#include <string>
#include <vector>

#include "app/console.hpp"
#include "traffic/client.hpp"
#include "traffic/sweep.hpp"

namespace weft::app {

// "16 of 64 paths dead since 1.31s"; empty where all are healthy.
std::string ill_paths(const std::vector<traffic::PathRow>& paths);

void print_run(const traffic::ClientOptions& options, traffic::ClientResult& result, bool per_path, Console& console);
void print_run_record(const traffic::ClientOptions& options, traffic::ClientResult& result, Console& console);
void print_sweep(const traffic::SweepResult& result, Console& console);
void print_sweep_records(const traffic::SweepResult& result, Console& console);

std::string run_metrics(const traffic::ClientOptions& options, const traffic::Progress& progress);

}  // namespace weft::app
