// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-2.x --tierup-pipeline=no-grad | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=no-grad --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// A group for each row of elementwise ops, with a check of its own and a fallback. The concatenation is in the last one. Types are plain
// outside.

// CHECK: func.func @main(%arg0: !torch.vtensor, %arg1: !torch.vtensor, %arg2: !torch.bool) -> (!torch.vtensor, !torch.vtensor)
// CHECK: [[A:%.+]]:3 = "tierup.check"(%arg0, %arg1) {expected = [#tierup.profiled<f32[2,4]>, #tierup.profiled<f32[4]>]}
// CHECK: [[B:%.+]] = torch.prim.If [[A]]#2
// CHECK: "tierup.fusion_group"([[A]]#0, [[A]]#1)
// CHECK: torch.aten.mul.Tensor
// CHECK-NEXT: torch.aten.tanh
// CHECK: "tierup.fallback"(%arg0, %arg1)
// CHECK: torch.prim.If %arg2
// CHECK: "tierup.check"([[B]])
// CHECK: torch.aten.exp
// CHECK-NEXT: torch.aten.sin
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.check"
// CHECK: torch.aten.cos
// CHECK-NEXT: torch.aten.cos
// CHECK: torch.aten.cat

// STAGE: IR Dump After tierup-custom-passes{when=pre-fusion}
// STAGE: IR Dump After tierup-lower-simple-tuples
// STAGE: IR Dump After tierup-specialize-types
// STAGE: IR Dump After tierup-propagate-input-shapes
// STAGE: IR Dump After tierup-batch-matmul
// STAGE: IR Dump After tierup-fuse-groups
// STAGE: IR Dump After tierup-insert-checks
// STAGE: IR Dump After tierup-custom-passes
// STAGE: IR Dump After tierup-clear-specializations
// STAGE-NOT: IR Dump After
