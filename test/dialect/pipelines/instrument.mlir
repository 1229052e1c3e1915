// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=instrument | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=instrument --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Each use of a tensor is watched, on plain types, and each run counted.

// CHECK-LABEL: func.func @main
// CHECK-COUNT-13: "tierup.profile"(%{{.+}}) {slot = {{[0-9]+}} : i64} : (!torch.vtensor) -> !torch.vtensor
// CHECK: "tierup.count_run"

// STAGE: IR Dump After tierup-clear-profiling
// STAGE: IR Dump After tierup-insert-profiling
// STAGE: IR Dump After tierup-profile-autograd-zero
// STAGE-NOT: IR Dump After
