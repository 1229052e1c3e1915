// RUN: tierup-opt %s --canonicalize | FileCheck %s
// A remainder has the divisor's sign, as Python's: MLIR folds it as C has it.

// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[TWO:.*]] = torch.constant.int 2
// CHECK-DAG: %[[MINUS_TWO:.*]] = torch.constant.int -2
// CHECK: return %[[TWO]], %[[MINUS_TWO]]
func.func @constants() -> (!torch.int, !torch.int) {
  %a = torch.constant.int -7
  %b = torch.constant.int 3
  %c = torch.constant.int 7
  %d = torch.aten.neg.int %b : !torch.int -> !torch.int
  %m = torch.aten.remainder.int %a, %b : !torch.int, !torch.int -> !torch.int
  %n = torch.aten.remainder.int %c, %d : !torch.int, !torch.int -> !torch.int
  return %m, %n : !torch.int, !torch.int
}

// CHECK-LABEL: func.func @of_a_size
// CHECK: torch.aten.remainder.int
func.func @of_a_size(%x: !torch.vtensor<[?],f32>) -> !torch.int {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %n = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %m = torch.aten.remainder.int %n, %two : !torch.int, !torch.int -> !torch.int
  return %m : !torch.int
}
