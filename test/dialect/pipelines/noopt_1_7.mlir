// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=noopt-1.7 | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=noopt-1.7 --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// As noopt, but calls stay.

// CHECK: call @leaf
// CHECK-NOT: torch.aten.expand
// CHECK: torch.aten.mul.Scalar %{{.+}}, %float2
// CHECK-NOT: torch.aten.exp
// CHECK-COUNT-2: torch.aten.sigmoid

// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-remove-expands
// STAGE: IR Dump After tierup-canonicalize-ops
// STAGE: IR Dump After tierup-dce
// STAGE-NOT: IR Dump After
