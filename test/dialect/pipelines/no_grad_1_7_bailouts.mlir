// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-1.7 --tierup-pipeline=no-grad-1.7-bailouts | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=no-grad-1.7-bailouts --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Groups of the older fuser, on the types that the bailouts ensure: no checks, no fallbacks, nothing forgotten.

// CHECK-LABEL: func.func @main
// CHECK: [[X:%.+]] = "tierup.bailout"(%arg0,
// CHECK: [[W:%.+]] = "tierup.bailout"(%arg1,
// CHECK: "tierup.fusion_group"([[X]], [[W]])
// CHECK: torch.aten.mul.Tensor
// CHECK-NEXT: torch.aten.tanh
// CHECK-NOT: tierup.check
// CHECK-NOT: tierup.fallback
// CHECK: func.func private @main_continuation_0
// CHECK-NOT: tierup.fusion_group

// STAGE: IR Dump After tierup-custom-passes{when=pre-fusion}
// STAGE: IR Dump After tierup-lower-simple-tuples
// STAGE: IR Dump After tierup-batch-matmul
// STAGE: IR Dump After tierup-fuse-groups
// STAGE: IR Dump After tierup-custom-passes
// STAGE-NOT: IR Dump After
