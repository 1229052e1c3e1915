// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-2.x | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-2.x --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// The records stay, for the fuser; copies of the loop's body share one.

// CHECK-LABEL: func.func @main
// CHECK-NOT: tierup.bailout
// CHECK: "tierup.profile"(%arg0) {profiled = #tierup.profiled<f32[2,4]
// CHECK-NOT: torch.prim.Loop
// CHECK: slot = 5
// CHECK: torch.aten.cos
// CHECK: slot = 5
// CHECK: torch.aten.cos
// CHECK: torch.prim.ListConstruct %{{.+}} :
// CHECK-NOT: tierup.count_run

// STAGE: IR Dump After tierup-remove-counter
// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-specialize-autograd-zero
// STAGE: IR Dump After tierup-remove-expands
// STAGE: IR Dump After tierup-canonicalize-ops
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-peephole
// STAGE: IR Dump After tierup-constant-propagation
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-cse
// STAGE: IR Dump After tierup-peephole
// STAGE: IR Dump After tierup-constant-propagation
// STAGE: IR Dump After tierup-constant-pooling
// STAGE: IR Dump After tierup-unroll-loops
// STAGE: IR Dump After tierup-remove-list-mutation
// STAGE: IR Dump After tierup-peephole
// STAGE: IR Dump After tierup-constant-propagation
// STAGE: IR Dump After tierup-cse
// STAGE: IR Dump After tierup-check-inplace
// STAGE-NOT: IR Dump After
