// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=noopt | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=noopt --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Calls are inlined, the constant of rank 0 is a number, dead ops are gone; equal ops, constants to fold, the loop, the list and the tuple
// stay.

// CHECK-NOT: @leaf
// CHECK: torch.aten.tanh
// CHECK-NOT: torch.aten.expand
// CHECK: torch.aten.mul.Scalar %{{.+}}, %float2
// CHECK-NOT: torch.aten.exp
// CHECK-COUNT-2: torch.aten.sigmoid
// CHECK: torch.aten.add.int
// CHECK: torch.prim.Loop
// CHECK: torch.aten.append.t
// CHECK: "tierup.any_nonzero"(%arg2)
// CHECK: torch.prim.TupleUnpack

// STAGE: IR Dump After tierup-inline
// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-remove-expands
// STAGE: IR Dump After tierup-canonicalize-ops
// STAGE: IR Dump After tierup-dce
// STAGE-NOT: IR Dump After
