// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// Python's floor; neither 0 nor the one quotient that overflows reaches the division. Static sizes are constants.
// CHECK-LABEL: func.func @numbers
// CHECK: [[A:%.+]] = torch_c.to_i64 %arg0
// CHECK: [[B:%.+]] = torch_c.to_i64 %arg1
// CHECK: [[SAFE:%.+]] = arith.select %{{.+}}, %c1_i64, [[B]] : i64
// CHECK: [[Q:%.+]] = arith.divsi [[A]], [[SAFE]] : i64
// CHECK: [[LESS:%.+]] = arith.subi [[Q]], %{{.+}} : i64
// CHECK: arith.select %{{.+}}, [[LESS]], [[Q]] : i64
// CHECK: tensor.dim %{{.+}}, %c0
// CHECK: arith.constant 3 : i64
// CHECK: tensor.extract %{{.+}}[] : tensor<f32>
// CHECK-NEXT: arith.extf %{{.+}} : f32 to f64
// CHECK-NOT: torch.aten
func.func @numbers(%a: !torch.int, %b: !torch.int, %x: !torch.vtensor<[?,3],f32>, %s: !torch.vtensor<[],f32>) -> (!torch.int, !torch.int, !torch.int, !torch.int, !torch.float) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int -1
  %0 = torch.aten.floordiv.int %a, %b : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.size.int %x, %int0 : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %2 = torch.aten.size.int %x, %int1 : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %3 = torch.aten.numel %x : !torch.vtensor<[?,3],f32> -> !torch.int
  %4 = torch.aten.Float.Tensor %s : !torch.vtensor<[],f32> -> !torch.float
  return %0, %1, %2, %3, %4 : !torch.int, !torch.int, !torch.int, !torch.int, !torch.float
}

// -----
// By a positive number no quotient overflows, and none is rounded the other way: of a negative number it is that of what is not.
// CHECK-LABEL: func.func @by_ten
// CHECK: [[A:%.+]] = torch_c.to_i64 %arg0
// CHECK: [[BELOW:%.+]] = arith.cmpi slt, [[A]], %c0
// CHECK: [[NOT:%.+]] = arith.xori [[A]], %c-1
// CHECK: [[X:%.+]] = arith.select [[BELOW]], [[NOT]], [[A]]
// CHECK: [[Q:%.+]] = arith.divui [[X]], %c10
// CHECK: [[NOT_Q:%.+]] = arith.xori [[Q]], %c-1
// CHECK: arith.select [[BELOW]], [[NOT_Q]], [[Q]]
func.func @by_ten(%a: !torch.int) -> !torch.int {
  %int10 = torch.constant.int 10
  %0 = torch.aten.floordiv.int %a, %int10 : !torch.int, !torch.int -> !torch.int
  return %0 : !torch.int
}

// -----
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: torch.aten.size.int %arg0, %arg1
// CHECK-NEXT: torch.aten.dim %arg2
// CHECK-NEXT: torch.aten.add %arg3, %arg3
// CHECK-NEXT: return
func.func @kept(%x: !torch.vtensor<[?,3],f32>, %d: !torch.int, %u: !torch.vtensor, %n: !torch.number) -> (!torch.int, !torch.int, !torch.number) {
  %0 = torch.aten.size.int %x, %d : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %1 = torch.aten.dim %u : !torch.vtensor -> !torch.int
  %2 = torch.aten.add %n, %n : !torch.number, !torch.number -> !torch.number
  return %0, %1, %2 : !torch.int, !torch.int, !torch.number
}

// -----
// What 64 bits do not hold is the nearest int where the op says so; without, it wraps.
// CHECK-LABEL: func.func @saturating
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK: %[[MOST:.*]] = arith.select %{{.*}}, %c-9223372036854775808{{.*}}, %c9223372036854775807
// CHECK: arith.select %{{.*}}, %[[SUM]], %[[MOST]]
// CHECK: arith.addi
// CHECK-NOT: arith.select
// CHECK: return
func.func @saturating(%a: !torch.int, %b: !torch.int) -> (!torch.int, !torch.int) {
  %0 = torch.aten.add.int %a, %b {tierup.saturates} : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.add.int %b, %b : !torch.int, !torch.int -> !torch.int
  return %0, %1 : !torch.int, !torch.int
}

// -----
// Of a remainder that is only compared with 0 the sign does not matter, nor does 0 of a positive divisor; by a power of 2 it is the last bits.
// Of what is not negative quotient and remainder need no mending.
// CHECK-LABEL: func.func @remainders
// CHECK-NOT: arith.select
// CHECK: %[[LEFT:.*]] = arith.remsi
// CHECK-NOT: arith.select
// CHECK: arith.cmpi eq, %[[LEFT]]
// CHECK: arith.andi %{{.*}}, %c7
// CHECK: %[[R:.*]] = arith.remsi
// CHECK: %[[OFF:.*]] = arith.cmpi slt, %[[R]], %c0
// CHECK: arith.select %[[OFF]]
// CHECK: arith.remui
// CHECK-NOT: arith.select
// CHECK: arith.divui
// CHECK-NOT: arith.select
func.func @remainders(%a: !torch.int, %b: !torch.int) -> (!torch.bool, !torch.int, !torch.int, !torch.int, !torch.int) {
  %zero = torch.constant.int 0
  %eight = torch.constant.int 8
  %0 = torch.aten.remainder.int %a, %b {tierup.positive_divisor} : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.eq.int %0, %zero : !torch.int, !torch.int -> !torch.bool
  %2 = torch.aten.remainder.int %a, %eight : !torch.int, !torch.int -> !torch.int
  %3 = torch.aten.remainder.int %a, %b {tierup.positive_divisor} : !torch.int, !torch.int -> !torch.int
  %4 = torch.aten.remainder.int %a, %b {tierup.not_negative, tierup.positive_divisor} : !torch.int, !torch.int -> !torch.int
  %5 = torch.aten.floordiv.int %a, %b {tierup.not_negative, tierup.positive_divisor} : !torch.int, !torch.int -> !torch.int
  return %1, %2, %3, %4, %5 : !torch.bool, !torch.int, !torch.int, !torch.int, !torch.int
}
