// RUN: tierup-opt %s --split-input-file --tierup-remove-expands --tierup-verify-graph --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-remove-expands --tierup-remove-expands --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @in_front_of_a_broadcast
// CHECK-NEXT: [[M:%.+]] = torch.aten.mul.Tensor %arg0, %arg1
// CHECK-NEXT: return [[M]]
func.func @in_front_of_a_broadcast(%x: !torch.vtensor<[2,4],f32>, %b: !torch.vtensor<[4],f32>) -> !torch.vtensor<[2,4],f32> {
  %true = torch.constant.bool true
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  return %1 : !torch.vtensor<[2,4],f32>
}

// -----
// Sizes that only the run knows, read from the other operand.
// CHECK-LABEL: func.func @symbolic
// CHECK: torch.aten.mul.Tensor %arg0, %arg1
// CHECK-NOT: torch.aten.expand
func.func @symbolic(%x: !torch.vtensor<[?,4],f32>, %b: !torch.vtensor<[1,4],f32>) -> !torch.vtensor<[?,4],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  %true = torch.constant.bool true
  %s = torch.aten.size %x : !torch.vtensor<[?,4],f32> -> !torch.list<int>
  %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[1,4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[?,4],f32>
  %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %1 : !torch.vtensor<[?,4],f32>
}

// -----
// Of two expanded operands one keeps it; what is returned, reduced or viewed stays expanded.
// CHECK-LABEL: func.func @needed
// CHECK: [[A:%.+]] = torch.aten.expand %arg0
// CHECK: [[B:%.+]] = torch.aten.expand %arg1
// CHECK: torch.aten.mul.Tensor
// CHECK-SAME: %arg
// CHECK-SAME: -> !torch.vtensor<[2,4],f32>
// CHECK: torch.aten.sum [[A]]
// CHECK: torch.aten.t [[B]]
func.func @needed(%a: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor, !torch.vtensor, !torch.vtensor<[2,4],f32>) {
  %true = torch.constant.bool true
  %none = torch.constant.none
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.expand %a, %s, %true : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.expand %b, %s, %true : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %3 = torch.aten.sum %0, %none : !torch.vtensor<[2,4],f32>, !torch.none -> !torch.vtensor
  %4 = torch.aten.t %1 : !torch.vtensor<[2,4],f32> -> !torch.vtensor
  return %2, %3, %4, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor, !torch.vtensor, !torch.vtensor<[2,4],f32>
}

// -----
// A user's own; one of unknown shape; one whose rank decides the dtype: f64 of rank 0 with f32 of rank 1 is f32.
// CHECK-LABEL: func.func @left
// CHECK-COUNT-3: torch.aten.expand
func.func @left(%x: !torch.vtensor<[2,4],f32>, %b: !torch.vtensor<[4],f32>, %u: !torch.vtensor, %d: !torch.vtensor<[],f64>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %t = torch.prim.ListConstruct %four : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.expand %b, %s, %false : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32> -> !torch.vtensor
  %2 = torch.aten.expand %u, %s, %true : !torch.vtensor, !torch.list<int>, !torch.bool -> !torch.vtensor
  %3 = torch.aten.mul.Tensor %x, %2 : !torch.vtensor<[2,4],f32>, !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.expand %d, %t, %true : !torch.vtensor<[],f64>, !torch.list<int>, !torch.bool -> !torch.vtensor<[4],f64>
  %5 = torch.aten.mul.Tensor %y, %4 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f64> -> !torch.vtensor
  return %1, %3, %5 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// Whether b fits x only the run tells: without the expand the product could take another shape.
// CHECK-LABEL: func.func @may_not_fit
// CHECK: torch.aten.expand
func.func @may_not_fit(%x: !torch.vtensor<[?],f32>, %b: !torch.vtensor<[?],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  torch.bind_symbolic_shape %b, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %true = torch.constant.bool true
  %s = torch.aten.size %x : !torch.vtensor<[?],f32> -> !torch.list<int>
  %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[?],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor
  %1 = torch.aten.sigmoid %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.mul.Tensor %x, %1 : !torch.vtensor<[?],f32>, !torch.vtensor -> !torch.vtensor
  return %2 : !torch.vtensor
}

// -----
// The same shape, but only if 4 and s0 are equal: it is the expand that raises when they are not.
// CHECK-LABEL: func.func @same_shape_if_it_fits
// CHECK: [[E:%.+]] = torch.aten.expand
// CHECK: torch.aten.mul.Tensor %arg0, [[E]]
func.func @same_shape_if_it_fits(%x: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[?],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %b, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %true = torch.constant.bool true
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %four : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[?],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[4],f32>
  %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  return %1 : !torch.vtensor
}
