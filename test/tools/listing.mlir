// RUN: tierup-opt --list-passes | FileCheck %s --check-prefix=PASSES
// PASSES: tierup's passes
// PASSES: --tierup-verify-graph The contract of the pristine graph
// PASSES: MLIR's passes and pass pipelines
// PASSES: canonicalize
// PASSES: one-shot-bufferize

// RUN: tierup-opt --list-pipelines | FileCheck %s --check-prefix=PIPELINES
// PIPELINES: From a graph to machine code, in this order: to-values, specialise, prepare-kernel, lower-torch
// PIPELINES: to-values:
// PIPELINES: prepare-kernel:
// PIPELINES: lower-cpu:
// PIPELINES: compile-cpu:

// RUN: tierup-opt --help | FileCheck %s --check-prefix=HELP
// HELP: USAGE  tierup-opt [options] [passes] [FILE]
// HELP: --pass-pipeline=TEXT
// HELP: --mlir-print-ir-after=PASS,...
// HELP: --tierup-verify-profiled
// HELP: lower-cpu

// RUN: tierup-opt --help --tierup-verify-guarded | FileCheck %s --check-prefix=ONE
// ONE: --tierup-verify-guarded
// ONE: The contract of a speculative graph
// ONE: error: 'torch.aten.tanh' op breaks the contract 'guarded'

// RUN: tierup-opt --help --tierup-pipeline=compile-cpu | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: compile-cpu: from a recorded graph with guards
// PIPELINE-NEXT: tierup-verify-entry
