// RUN: tierup-opt %S/inputs/choice.mlir --tierup-pipeline=final | FileCheck %s
// RUN: tierup-opt %S/inputs/choice.mlir --tierup-pipeline=final --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=STAGE
// Dead ops go, a branch that chooses is a choice.

// CHECK-LABEL: func.func @main
// CHECK-NOT: torch.aten.exp
// CHECK-NOT: torch.prim.If
// CHECK: "tierup.if_then_else"

// STAGE: IR Dump After tierup-dce
// STAGE: IR Dump After tierup-if-then-else
// STAGE-NOT: IR Dump After
