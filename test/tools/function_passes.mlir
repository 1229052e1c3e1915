// RUN: tierup-opt %s --convert-torch-to-arith --dump-pass-pipeline 2>&1 | FileCheck %s
// A pass of MLIR's that works on functions is nested by itself, as mlir-opt does with flags.

// CHECK: Pass Manager with 1 passes:
// CHECK-NEXT: builtin.module(func.func(convert-torch-to-arith))
// CHECK-LABEL: func.func @constant
func.func @constant() -> !torch.int {
  // CHECK: arith.constant 3 : i64
  %0 = torch.constant.int 3
  return %0 : !torch.int
}
