// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=legacy-specialize | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=legacy-specialize --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// What was recorded of arguments is what callers ensure: types follow from it without a check.

// CHECK: func.func @main(%arg0: !torch.vtensor<[2,4],f32>, %arg1: !torch.vtensor<[4],f32>, %arg2: !torch.bool)
// CHECK-NOT: tierup.
// CHECK: torch.prim.If %arg2 -> (!torch.vtensor<[2,4],f32>)
// CHECK: torch.aten.cos %{{.+}} : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>

// STAGE: IR Dump After tierup-specialize-autograd-zero
// STAGE: IR Dump After tierup-specialize-types
// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-remove-expands
// STAGE: IR Dump After tierup-canonicalize-ops
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-constant-propagation
// STAGE: IR Dump After tierup-propagate-input-shapes
// STAGE-NOT: IR Dump After
