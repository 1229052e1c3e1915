// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-1.7 | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-1.7 --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// What was recorded of arguments is guarded, each guard is a bailout, and what follows from them is not guarded again; the loop is gone, the
// list is made at once. A continuation each.

// CHECK-LABEL: func.func @main
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.bailout"(%arg0, %arg1, %arg2) {continuation = @main_continuation_0, expected = #tierup.profiled<f32[2,4] requires_grad=false>
// CHECK: "tierup.bailout"(%arg1, %arg0, %arg2) {continuation = @main_continuation_1, expected = #tierup.profiled<f32[4] requires_grad=true>
// CHECK-NOT: tierup.bailout
// CHECK: torch.prim.If %arg2
// CHECK-NOT: torch.prim.Loop
// CHECK-COUNT-2: torch.aten.cos
// CHECK: torch.prim.ListConstruct %{{.+}} :
// CHECK-NOT: torch.aten.append.t
// CHECK: func.func private @main_continuation_0
// CHECK: func.func private @main_continuation_1
// CHECK-NOT: func.func

// STAGE: IR Dump After tierup-insert-guards
// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-eliminate-guards
// STAGE: IR Dump After tierup-insert-bailouts
// STAGE: IR Dump After tierup-build-bailout-continuations
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
