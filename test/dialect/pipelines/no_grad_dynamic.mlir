// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-2.x --tierup-pipeline=no-grad-dynamic | FileCheck %s
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=no-grad-dynamic --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Sizes are symbols, one where the group needs two equal.

// CHECK: [[OK:%.+]] = "tierup.check_shapes"(%arg0, %arg1) {expected = [#tierup.profiled<f32[s0,[[S:s[0-9]+]]]>, #tierup.profiled<f32[[[S]]]>]
// CHECK: torch.prim.If [[OK]]
// CHECK: "tierup.fusion_group"
// CHECK: torch.bind_symbolic_shape
// CHECK: torch.aten.tanh %{{.+}} : !torch.vtensor<[?,?],f32>
// CHECK: "tierup.fallback"(%arg0, %arg1)
// CHECK: "tierup.check_shapes"
// CHECK: "tierup.check_shapes"

// STAGE: IR Dump After tierup-custom-passes{when=pre-fusion}
// STAGE: IR Dump After tierup-lower-simple-tuples
// STAGE: IR Dump After tierup-specialize-types
// STAGE: IR Dump After tierup-propagate-input-shapes
// STAGE: IR Dump After tierup-batch-matmul
// STAGE: IR Dump After tierup-fuse-groups
// STAGE: IR Dump After tierup-insert-symbolic-checks
// STAGE: IR Dump After tierup-insert-checks
// STAGE: IR Dump After tierup-custom-passes
// STAGE: IR Dump After tierup-clear-specializations
// STAGE-NOT: IR Dump After
