// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=legacy-specialize --tierup-pipeline=legacy-optimize --tierup-pipeline=legacy-nondiff | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=legacy-nondiff --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Groups without checks, since the plan is for one spec.

// CHECK: func.func @main(%arg0: !torch.vtensor<[2,4],f32>, %arg1: !torch.vtensor<[4],f32>, %arg2: !torch.bool)
// CHECK-NOT: tierup.check
// CHECK: "tierup.fusion_group"(%arg0, %arg1)
// CHECK: torch.aten.mul.Tensor
// CHECK-NEXT: torch.aten.tanh
// CHECK-NOT: tierup.check
// CHECK: "tierup.fusion_group"
// CHECK: torch.aten.exp
// CHECK-NOT: tierup.fallback
// CHECK: "tierup.fusion_group"
// CHECK: torch.aten.cos
// CHECK-NEXT: torch.aten.cos

// STAGE: IR Dump After tierup-custom-passes{when=pre-fusion}
// STAGE: IR Dump After tierup-decompose-ops
// STAGE: IR Dump After tierup-batch-matmul
// STAGE: IR Dump After tierup-fuse-groups
// STAGE: IR Dump After tierup-custom-passes
// STAGE-NOT: IR Dump After
