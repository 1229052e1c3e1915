// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=profiling-insensitive | FileCheck %s
// RUN: tierup-opt %S/inputs/untidy.mlir --tierup-pipeline=profiling-insensitive --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Types go first, so that nothing is done that a type alone justifies: the expand stays, and the constant of rank 0. Equal ops are one,
// constants are folded and stand at the beginning, the tuple is gone.

// CHECK: func.func @main(%arg0: !torch.vtensor, %arg1: !torch.vtensor, %arg2: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
// CHECK: torch.constant.int 4
// CHECK-NEXT: torch.vtensor.literal
// CHECK-NEXT: torch.aten.tanh %arg0 : !torch.vtensor -> !torch.vtensor
// CHECK: torch.aten.expand
// CHECK: torch.aten.mul.Tensor %{{.+}}, %0 : !torch.vtensor, !torch.vtensor<[],f32> -> !torch.vtensor
// CHECK-NEXT: torch.aten.sigmoid
// CHECK-NOT: torch.aten.sigmoid
// CHECK-NOT: torch.aten.add.int
// CHECK: torch.prim.Loop %int2
// CHECK: torch.aten.append.t
// CHECK: [[G:%.+]] = torch.prim.If
// CHECK: "tierup.autograd_zero"
// CHECK-NOT: torch.prim.Tuple
// CHECK: return %{{.+}}, [[G]]

// STAGE: IR Dump After tierup-inline
// STAGE: IR Dump After tierup-clear-profiling
// STAGE: IR Dump After tierup-lower-grad-of
// STAGE: IR Dump After tierup-clear-undefinedness
// STAGE: IR Dump After tierup-remove-expands
// STAGE: IR Dump After tierup-canonicalize-ops
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-decompose-ops
// STAGE: IR Dump After tierup-constant-propagation
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-cse
// STAGE: IR Dump After tierup-constant-pooling
// STAGE: IR Dump After tierup-peephole
// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-lower-simple-tuples
// STAGE: IR Dump After tierup-check-inplace
// STAGE-NOT: IR Dump After
