// SPDX-License-Identifier: BSD-3-Clause
// A sequence of asynchronous launches, recorded once and replayed with one call: on small grids the launches of a
// multigrid cycle take longer than its kernels. Backends without graphs run the sequence each time.
#pragma once

#include "brickwork/core/fields.hpp"

namespace brickwork::detail {

template <class ExecutionSpace>
class LaunchGraph {
 public:
  /// Forgets what was recorded.
  void reset() {}

  /// Runs launch(space). On a GPU the first call records it on a stream of its own, and every call replays the record
  /// on `space`: the launches must always be the same ones, with the same arguments.
  template <class Launch>
  void run(ExecutionSpace const& space, Launch const& launch) {
    launch(space);
  }
};

#if defined(KOKKOS_ENABLE_CUDA)
template <>
class LaunchGraph<Kokkos::Cuda> {
 public:
  LaunchGraph() = default;
  LaunchGraph(LaunchGraph const&) = delete;
  LaunchGraph& operator=(LaunchGraph const&) = delete;
  ~LaunchGraph() {
    reset();
    recorder_ = Kokkos::Cuda();  // the instance goes before its stream
    if (stream_) cudaStreamDestroy(stream_);
  }

  void reset() {
    if (graph_) cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
    recorded_ = false;
  }

  template <class Launch>
  void run(Kokkos::Cuda const& space, Launch const& launch) {
    if (!recorded_) record(space, launch);
    if (graph_) {
      cudaGraphLaunch(graph_, space.cuda_stream());
    } else {
      launch(space);
    }
  }

 private:
  template <class Launch>
  void record(Kokkos::Cuda const& space, Launch const& launch) {
    recorded_ = true;
    // Whatever a first launch sets up (attributes, scratch) cannot be recorded: run once as it is.
    launch(space);
    space.fence();
    if (!stream_) {
      if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess) return;
      recorder_ = Kokkos::Cuda(stream_);
      launch(recorder_);  // and what an instance sets up at its first launch
      recorder_.fence();
    }
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return;
    launch(recorder_);
    bool const captured = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph;
    if (captured && cudaGraphInstantiate(&graph_, graph, 0) != cudaSuccess) graph_ = nullptr;
    if (graph) cudaGraphDestroy(graph);
    if (!graph_) cudaGetLastError();  // the launches themselves serve
  }

  cudaStream_t stream_ = nullptr;
  Kokkos::Cuda recorder_;
  cudaGraphExec_t graph_ = nullptr;
  bool recorded_ = false;
};
#endif

}  // namespace brickwork::detail
