// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-1.7 --tierup-pipeline=diff-graph-bailouts | FileCheck %s
// The older fuser's groups on the types that bailouts ensure: no check, no fallback.

// CHECK-LABEL: func.func @main
// CHECK-NOT: tierup.check
// CHECK: "tierup.fusion_group"
// CHECK-NOT: tierup.fallback
