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

// -----
// Whichever operand it is; of an in-place op the one that is read, for the one that is written needs the memory.
// CHECK-LABEL: func.func @written
// CHECK: [[E:%.+]] = torch.aten.expand %arg1
// CHECK-NOT: torch.aten.expand
// CHECK: torch.aten.mul.Tensor %arg2, %arg0
// CHECK: torch.aten.mul_.Tensor %arg0, %arg2
// CHECK: torch.aten.mul_.Tensor [[E]], %arg0
func.func @written(%x: !torch.tensor<[2,4],f32>, %b: !torch.tensor<[2,4],f32>, %c: !torch.tensor<[4],f32>) -> !torch.tensor {
  %true = torch.constant.bool true
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %e = torch.aten.expand %b, %s, %true : !torch.tensor<[2,4],f32>, !torch.list<int>, !torch.bool -> !torch.tensor<[2,4],f32>
  %0 = torch.aten.expand %c, %s, %true : !torch.tensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.tensor<[2,4],f32>
  %1 = torch.aten.mul.Tensor %0, %x : !torch.tensor<[2,4],f32>, !torch.tensor<[2,4],f32> -> !torch.tensor
  %2 = torch.aten.mul_.Tensor %x, %0 : !torch.tensor<[2,4],f32>, !torch.tensor<[2,4],f32> -> !torch.tensor
  %3 = torch.aten.mul_.Tensor %e, %x : !torch.tensor<[2,4],f32>, !torch.tensor<[2,4],f32> -> !torch.tensor
  return %1 : !torch.tensor
}

// -----
// Nobody uses them, but they may raise: of a tensor of unknown shape, of one that may not fit, where no run comes by.
// CHECK-LABEL: func.func @unused
// CHECK-COUNT-3: torch.aten.expand
// CHECK: torch.aten.mul.Tensor
func.func @unused(%x: !torch.vtensor<[4],f32>, %u: !torch.vtensor, %b: !torch.vtensor<[?],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %b, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %four : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.expand %u, %s, %true : !torch.vtensor, !torch.list<int>, !torch.bool -> !torch.vtensor
  %1 = torch.aten.expand %b, %s, %true : !torch.vtensor<[?],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor
  %2 = torch.prim.If %false -> (!torch.vtensor) {
    %two = torch.constant.int 2
    %v = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor
    %t = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
    %3 = torch.aten.expand %v, %t, %true : !torch.vtensor, !torch.list<int>, !torch.bool -> !torch.vtensor
    torch.prim.If.yield %v : !torch.vtensor
  } else {
    %3 = torch.aten.mul.Tensor %x, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  }
  return %2 : !torch.vtensor
}

// -----
// The use stands where no run comes by, of which nothing is known.
// CHECK-LABEL: func.func @dead_use
// CHECK: [[E:%.+]] = torch.aten.expand
// CHECK: torch.aten.mul.Tensor %arg0, [[E]]
func.func @dead_use(%x: !torch.vtensor<[2,4],f32>, %b: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %1 = torch.prim.If %false -> (!torch.vtensor) {
    %2 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32> -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %2 = torch.aten.tanh %x : !torch.vtensor<[2,4],f32> -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// -----
// It raises on every call, which is said and left.
// CHECK-LABEL: func.func @raises
// CHECK: torch.aten.expand
func.func @raises(%x: !torch.vtensor<[2,4],f32>, %b: !torch.vtensor<[3],f32>) -> !torch.vtensor {
  %true = torch.constant.bool true
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %s = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-remark@below {{cannot run on operands of these types, so the function stays as it is}}
  %0 = torch.aten.expand %b, %s, %true : !torch.vtensor<[3],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor
  %1 = torch.aten.mul.Tensor %x, %0 : !torch.vtensor<[2,4],f32>, !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}
