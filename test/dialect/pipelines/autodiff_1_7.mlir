// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=autodiff-1.7 | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=autodiff-1.7 --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Groups are not guarded, and those of fewer than five ops are undone: here all of them.

// CHECK-LABEL: func.func @main
// CHECK-NOT: tierup.
// CHECK: torch.aten.mul.Tensor %arg0, %arg1
// CHECK: return

// STAGE: IR Dump After tierup-decide-gradient
// STAGE: IR Dump After tierup-create-differentiable-subgraphs
// STAGE: IR Dump After tierup-differentiate
// STAGE: IR Dump After tierup-inline-differentiable
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-outline-fallbacks
// STAGE: IR Dump After tierup-remove-profiling
// STAGE: IR Dump After tierup-pack-gradient
// STAGE-NOT: IR Dump After
