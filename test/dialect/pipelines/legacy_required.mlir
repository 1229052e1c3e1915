// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=legacy-required | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=legacy-required --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// As noopt-1.7.

// CHECK: call @leaf
// CHECK-NOT: torch.aten.expand
// CHECK: torch.aten.mul.Scalar %{{.+}}, %float2
// CHECK-NOT: torch.aten.exp
// CHECK-COUNT-2: torch.aten.sigmoid
// CHECK: "tierup.any_nonzero"

// STAGE: IR Dump After tierup-specialize-autograd-zero
// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-remove-expands
// STAGE: IR Dump After tierup-canonicalize-ops
// STAGE: IR Dump After tierup-dce
// STAGE-NOT: IR Dump After
