// RUN: tierup-opt %s --tierup-remove-tensor-mutation --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-remove-tensor-mutation,tierup-remove-tensor-mutation)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @fresh
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.tensor
func.func @fresh(%x: !torch.tensor) -> !torch.tensor {
  // CHECK: %[[T:.*]] = torch.aten.clone %[[X]]
  %none = torch.constant.none
  %t = torch.aten.clone %x, %none : !torch.tensor, !torch.none -> !torch.tensor
  // CHECK-NEXT: %[[R:.*]] = torch.aten.relu %[[T]]
  %w = torch.aten.relu_ %t : !torch.tensor -> !torch.tensor
  // CHECK-NEXT: torch.aten.mul.Tensor %[[R]], %[[R]]
  %r = torch.aten.mul.Tensor %t, %w : !torch.tensor, !torch.tensor -> !torch.tensor
  return %r : !torch.tensor
}

// -----
// Reading it first does not keep it; each write makes the next value.
// CHECK-LABEL: func.func @read_in_between
func.func @read_in_between(%x: !torch.tensor<[4],f32>) -> (!torch.tensor<[4],f32>, !torch.tensor) {
  %int1 = torch.constant.int 1
  // CHECK: %[[T:.*]] = torch.aten.exp
  %t = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // CHECK: %[[A:.*]] = torch.aten.add.Scalar %[[T]], %int1
  %0 = torch.aten.add_.Scalar %t, %int1, %int1 : !torch.tensor<[4],f32>, !torch.int, !torch.int -> !torch.tensor<[4],f32>
  // CHECK: %[[Z:.*]] = torch.aten.tanh %[[A]]
  %z = torch.aten.tanh %t : !torch.tensor<[4],f32> -> !torch.tensor
  // CHECK: %[[B:.*]] = torch.aten.add.Tensor %[[A]], %
  %1 = torch.aten.add_.Tensor %t, %x, %int1 : !torch.tensor<[4],f32>, !torch.tensor<[4],f32>, !torch.int -> !torch.tensor<[4],f32>
  // CHECK: return %[[B]], %[[Z]]
  return %t, %z : !torch.tensor<[4],f32>, !torch.tensor
}

// -----
// CHECK-LABEL: func.func @filled
func.func @filled(%x: !torch.tensor<[4],f32>, %s: !torch.tensor<[],f32>) -> (!torch.tensor<[4],f32>, !torch.tensor<[4],f32>) {
  %f = torch.constant.float 1.500000e+00
  %t = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // CHECK: torch.aten.fill.Scalar
  %0 = torch.aten.fill_.Scalar %t, %f : !torch.tensor<[4],f32>, !torch.float -> !torch.tensor<[4],f32>
  %u = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // CHECK: torch.aten.zero %
  %1 = torch.aten.zero_ %u : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  return %0, %1 : !torch.tensor<[4],f32>, !torch.tensor<[4],f32>
}

// -----
// CHECK-LABEL: func.func @made_by_a_branch
func.func @made_by_a_branch(%c: !torch.bool, %x: !torch.tensor<[4],f32>) -> (!torch.tensor, !torch.tensor) {
  %t = torch.prim.If %c -> (!torch.tensor<[4],f32>) {
    %1 = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    torch.prim.If.yield %1 : !torch.tensor<[4],f32>
  } else {
    %1 = torch.aten.tanh %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    torch.prim.If.yield %1 : !torch.tensor<[4],f32>
  }
  // CHECK: torch.aten.relu %
  %0 = torch.aten.relu_ %t : !torch.tensor<[4],f32> -> !torch.tensor
  // One arm gives the argument.
  %u = torch.prim.If %c -> (!torch.tensor<[4],f32>) {
    torch.prim.If.yield %x : !torch.tensor<[4],f32>
  } else {
    %1 = torch.aten.tanh %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    torch.prim.If.yield %1 : !torch.tensor<[4],f32>
  }
  // CHECK: torch.aten.relu_ %
  %2 = torch.aten.relu_ %u : !torch.tensor<[4],f32> -> !torch.tensor
  return %0, %2 : !torch.tensor, !torch.tensor
}

// -----
// The caller's; a view of it; one that has a view, or is in a list; one from outside the loop.
// CHECK-LABEL: func.func @stay
func.func @stay(%x: !torch.tensor<[4,4],f32>, %n: !torch.int) -> (!torch.tensor<[4,4],f32>, !torch.tensor<[4,4],f32>) {
  %true = torch.constant.bool true
  %int0 = torch.constant.int 0
  // CHECK-COUNT-5: torch.aten.relu_ %
  %0 = torch.aten.relu_ %x : !torch.tensor<[4,4],f32> -> !torch.tensor
  %v = torch.aten.select.int %x, %int0, %int0 : !torch.tensor<[4,4],f32>, !torch.int, !torch.int -> !torch.tensor
  %1 = torch.aten.relu_ %v : !torch.tensor -> !torch.tensor
  %t = torch.aten.exp %x : !torch.tensor<[4,4],f32> -> !torch.tensor<[4,4],f32>
  %tt = torch.aten.t %t : !torch.tensor<[4,4],f32> -> !torch.tensor<[4,4],f32>
  %2 = torch.aten.relu_ %t : !torch.tensor<[4,4],f32> -> !torch.tensor
  %u = torch.aten.exp %x : !torch.tensor<[4,4],f32> -> !torch.tensor<[4,4],f32>
  %l = torch.prim.ListConstruct %u : (!torch.tensor<[4,4],f32>) -> !torch.list<tensor>
  %3 = torch.aten.relu_ %u : !torch.tensor<[4,4],f32> -> !torch.tensor
  %c = torch.aten.cat %l, %int0 : !torch.list<tensor>, !torch.int -> !torch.tensor<[4,4],f32>
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    %4 = torch.aten.relu_ %c : !torch.tensor<[4,4],f32> -> !torch.tensor
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  // CHECK: return
  return %tt, %c : !torch.tensor<[4,4],f32>, !torch.tensor<[4,4],f32>
}

// -----
// What is written is read, too: PyTorch refuses that, or not.
// CHECK-LABEL: func.func @reads_what_it_writes
func.func @reads_what_it_writes(%x: !torch.tensor<[4],f32>, %i: !torch.tensor<[2],si64>) -> !torch.tensor<[4],f32> {
  %false = torch.constant.bool false
  %0 = torch.aten.tanh %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  %l = torch.prim.ListConstruct %i : (!torch.tensor<[2],si64>) -> !torch.list<tensor>
  // CHECK: torch.aten.index_put_.hacked_twin %
  %1 = torch.aten.index_put_.hacked_twin %0, %l, %0, %false : !torch.tensor<[4],f32>, !torch.list<tensor>, !torch.tensor<[4],f32>, !torch.bool -> !torch.tensor<[4],f32>
  return %1 : !torch.tensor<[4],f32>
}

// -----
// The in-place op raises where its twin does not: the dtype does not fit, or the shape; what is unknown may not.
// CHECK-LABEL: func.func @would_raise
func.func @would_raise(%n: !torch.tensor<[4],si64>, %s: !torch.tensor<[1],f32>, %x: !torch.tensor<[4],f32>, %u: !torch.tensor)
    -> (!torch.tensor, !torch.tensor, !torch.tensor) {
  %int1 = torch.constant.int 1
  %f = torch.constant.float 1.500000e+00
  %t = torch.aten.neg %n : !torch.tensor<[4],si64> -> !torch.tensor<[4],si64>
  // CHECK: torch.aten.add_.Scalar
  %0 = torch.aten.add_.Scalar %t, %f, %int1 : !torch.tensor<[4],si64>, !torch.float, !torch.int -> !torch.tensor
  %v = torch.aten.neg %s : !torch.tensor<[1],f32> -> !torch.tensor<[1],f32>
  // CHECK: torch.aten.add_.Tensor
  %1 = torch.aten.add_.Tensor %v, %x, %int1 : !torch.tensor<[1],f32>, !torch.tensor<[4],f32>, !torch.int -> !torch.tensor
  %w = torch.aten.neg %u : !torch.tensor -> !torch.tensor
  // CHECK: torch.aten.add_.Tensor
  %2 = torch.aten.add_.Tensor %w, %x, %int1 : !torch.tensor, !torch.tensor<[4],f32>, !torch.int -> !torch.tensor
  return %0, %1, %2 : !torch.tensor, !torch.tensor, !torch.tensor
}

// -----
// Sizes that are not known to be equal: the in-place op does not broadcast the tensor that it writes.
// CHECK-LABEL: func.func @sizes
func.func @sizes(%x: !torch.tensor<[?],f32>, %y: !torch.tensor<[?],f32>) -> (!torch.tensor, !torch.tensor) {
  %int1 = torch.constant.int 1
  %t = torch.aten.exp %x : !torch.tensor<[?],f32> -> !torch.tensor<[?],f32>
  // CHECK: torch.aten.add_.Tensor
  %0 = torch.aten.add_.Tensor %t, %y, %int1 : !torch.tensor<[?],f32>, !torch.tensor<[?],f32>, !torch.int -> !torch.tensor
  return %0, %0 : !torch.tensor, !torch.tensor
}

// -----
// In a branch; of a literal; of a shape that inference alone knows.
// CHECK-LABEL: func.func @made_here
// CHECK-NOT: torch.aten.relu_
// CHECK: torch.aten.relu %
// CHECK-NOT: torch.aten.add_.Tensor
// CHECK: torch.aten.add.Tensor
// CHECK-NOT: torch.aten.zero_
// CHECK: torch.aten.zero %
func.func @made_here(%c: !torch.bool, %x: !torch.tensor<[4],f32>) -> (!torch.tensor<[4],f32>, !torch.tensor, !torch.tensor<[2],f32>) {
  %int1 = torch.constant.int 1
  %0 = torch.prim.If %c -> (!torch.tensor<[4],f32>) {
    %t = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    %w = torch.aten.relu_ %t : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
    torch.prim.If.yield %t : !torch.tensor<[4],f32>
  } else {
    torch.prim.If.yield %x : !torch.tensor<[4],f32>
  }
  %1 = torch.aten.exp %x : !torch.tensor<[4],f32> -> !torch.tensor
  %2 = torch.aten.add_.Tensor %1, %x, %int1 : !torch.tensor, !torch.tensor<[4],f32>, !torch.int -> !torch.tensor
  %l = torch.tensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.tensor<[2],f32>
  %3 = torch.aten.zero_ %l : !torch.tensor<[2],f32> -> !torch.tensor<[2],f32>
  return %0, %1, %l : !torch.tensor<[4],f32>, !torch.tensor, !torch.tensor<[2],f32>
}

// -----
// A number cannot change the shape: the dtype decides, under the op's rules, if it is known.
// CHECK-LABEL: func.func @unknown_shapes
// CHECK: torch.aten.mul.Scalar
// CHECK: torch.aten.add_.Scalar
// CHECK: torch.aten.add_.Scalar
// CHECK: torch.aten.add_.Tensor
// CHECK: torch.aten.mul.Scalar
func.func @unknown_shapes(%x: !torch.tensor<*,f32>, %n: !torch.tensor<*,si64>, %u: !torch.tensor, %y: !torch.tensor<[4],f32>, %b: !torch.tensor<[4],bf16>) {
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %f = torch.constant.float 1.500000e+00
  %none = torch.constant.none
  %t = torch.aten.clone %x, %none : !torch.tensor<*,f32>, !torch.none -> !torch.tensor<*,f32>
  %0 = torch.aten.mul_.Scalar %t, %int2 : !torch.tensor<*,f32>, !torch.int -> !torch.tensor<*,f32>
  %v = torch.aten.clone %n, %none : !torch.tensor<*,si64>, !torch.none -> !torch.tensor<*,si64>
  %1 = torch.aten.add_.Scalar %v, %f, %int1 : !torch.tensor<*,si64>, !torch.float, !torch.int -> !torch.tensor<*,si64>
  %w = torch.aten.clone %u, %none : !torch.tensor, !torch.none -> !torch.tensor
  %2 = torch.aten.add_.Scalar %w, %f, %int1 : !torch.tensor, !torch.float, !torch.int -> !torch.tensor
  %z = torch.aten.clone %x, %none : !torch.tensor<*,f32>, !torch.none -> !torch.tensor<*,f32>
  %3 = torch.aten.add_.Tensor %z, %y, %int1 : !torch.tensor<*,f32>, !torch.tensor<[4],f32>, !torch.int -> !torch.tensor<*,f32>
  %q = torch.aten.clone %b, %none : !torch.tensor<[4],bf16>, !torch.none -> !torch.tensor<[4],bf16>
  %4 = torch.aten.mul_.Scalar %q, %f : !torch.tensor<[4],bf16>, !torch.float -> !torch.tensor<[4],bf16>
  return
}

// -----
// Against unknown sizes numbers alone are tried, no other tensor.
// CHECK-LABEL: func.func @not_tried
// CHECK: torch.aten.add_.Tensor
func.func @not_tried(%x: !torch.tensor<*,f32>, %r: !torch.tensor<[],f32>) {
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %t = torch.aten.clone %x, %none : !torch.tensor<*,f32>, !torch.none -> !torch.tensor<*,f32>
  %0 = torch.aten.add_.Tensor %t, %r, %int1 : !torch.tensor<*,f32>, !torch.tensor<[],f32>, !torch.int -> !torch.tensor<*,f32>
  return
}
