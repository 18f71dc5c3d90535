#pragma once
// A step of training: its check and its run.

#include "experiment/experiment.hpp"

namespace weft::experiment {

void check_training(Design& design, const Training& work, const Experiment& experiment,
                    const std::vector<Fidelity>& fidelities);
Outcome run_training(const Design& design, const Training& work, const Experiment& experiment,
                     const Observer& observer);

// GPUs of a job.
std::int64_t gpus_of(const model::Cluster& cluster, const model::TrainingRun& run);
// Its GPUs as Kernels know them: nothing where they are of several kinds, or of one without rates.
const model::GpuKind* gpu_of(const model::Cluster& cluster, const model::TrainingRun& run);
// Of NCCL's, below its collectives.
const collective::Stack& stack_of_training(const model::Cluster& cluster, const model::TrainingRun& run);
// Of its collectives, where the file names some.
std::vector<collective::Algorithm> algorithms_of(const model::TrainingRun& run);
// Between a GPU and host memory while all GPUs of the server copy.
Bandwidth host_rate(const model::Cluster& cluster);
// GPUs of a scale-up domain.
std::int64_t domain_of(const model::Cluster& cluster);

}  // namespace weft::experiment
