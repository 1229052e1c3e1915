// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=unoptimized | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=unoptimized --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Gradients become branches, implicit expands go where the product broadcasts as well; all else stays.

// CHECK: call @leaf
// CHECK-NOT: torch.aten.expand
// CHECK: torch.aten.mul.Tensor %{{.+}}, %arg1
// CHECK: torch.aten.exp
// CHECK: "tierup.any_nonzero"(%arg2)
// CHECK: "tierup.autograd_zero"
// CHECK: torch.prim.TupleUnpack

// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-remove-expands
// STAGE-NOT: IR Dump After
