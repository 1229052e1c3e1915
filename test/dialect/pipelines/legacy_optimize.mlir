// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=legacy-optimize | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=legacy-optimize --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Equal ops are one, a product by 1 is gone, constants are folded, the loop is unrolled; the list and the tuple stay.

// CHECK-LABEL: func.func @main
// CHECK: torch.aten.sigmoid
// CHECK-NOT: torch.aten.sigmoid
// CHECK-NOT: torch.aten.mul.Scalar
// CHECK-NOT: torch.prim.Loop
// CHECK-COUNT-2: torch.aten.sin
// CHECK-NOT: torch.aten.sin
// CHECK: torch.aten.append.t
// CHECK: torch.prim.TupleUnpack

// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-cse
// STAGE: IR Dump After tierup-constant-pooling
// STAGE: IR Dump After tierup-peephole
// STAGE: IR Dump After tierup-constant-propagation
// STAGE: IR Dump After tierup-unroll-loops
// STAGE: IR Dump After tierup-cse
// STAGE: IR Dump After tierup-check-inplace
// STAGE-NOT: IR Dump After
