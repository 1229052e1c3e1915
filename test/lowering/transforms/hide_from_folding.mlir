// RUN: tierup-opt %s --split-input-file --tierup-hide-from-folding | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-hide-from-folding --tierup-hide-from-folding | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-hide-from-folding --canonicalize --cse --tierup-restore-hidden | FileCheck %s --check-prefix=BACK

// With constant tensors torch-mlir computes otherwise than tier 0; of one constant there is one hidden value.
// CHECK-LABEL: func.func @constants
// CHECK: %[[L:.*]] = torch.vtensor.literal
// CHECK-NEXT: %[[H:.*]] = "tierup.hidden"(%[[L]])
// CHECK: torch.aten.add.Scalar %[[H]]
// CHECK: torch.aten.neg %[[H]]
// BACK-LABEL: func.func @constants
// BACK: %[[L:.*]] = torch.vtensor.literal
// BACK: torch.aten.add.Scalar %[[L]]
// BACK: torch.aten.neg %[[L]]
// BACK-NOT: tierup.
func.func @constants() -> (!torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>) {
  %one = torch.constant.int 1
  %minus = torch.constant.int -1
  %0 = torch.vtensor.literal(dense<0> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = torch.aten.add.Scalar %0, %minus, %one : !torch.vtensor<[2],si64>, !torch.int, !torch.int -> !torch.vtensor<[2],si64>
  %2 = torch.aten.neg %0 : !torch.vtensor<[2],si64> -> !torch.vtensor<[2],si64>
  return %1, %2 : !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>
}

// -----
// x == x is false for NaN.
// CHECK-LABEL: func.func @compared
// CHECK: %[[H:.*]] = "tierup.hidden"(%arg0)
// CHECK-NEXT: torch.aten.eq.Tensor %arg0, %[[H]]
// BACK-LABEL: func.func @compared
// BACK: torch.aten.eq.Tensor %arg0, %arg0
func.func @compared(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],i1> {
  %0 = torch.aten.eq.Tensor %x, %x : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32> -> !torch.vtensor<[2],i1>
  return %0 : !torch.vtensor<[2],i1>
}

// -----
// An error is a result: the op that may raise one stays, the one that may not goes.
// CHECK-LABEL: func.func @raises
// CHECK: %[[P:.*]] = torch.aten.index_select
// CHECK: "tierup.kept"(%[[P]])
// BACK-LABEL: func.func @raises
// BACK-NOT: torch.aten.neg
// BACK: torch.aten.index_select
// BACK-NOT: tierup.
func.func @raises(%x: !torch.vtensor<[2],f32>, %i: !torch.vtensor<[3],si64>) -> !torch.vtensor<[2],f32> {
  %zero = torch.constant.int 0
  %0 = torch.aten.index_select %x, %zero, %i : !torch.vtensor<[2],f32>, !torch.int, !torch.vtensor<[3],si64> -> !torch.vtensor<[3],f32>
  %1 = torch.aten.neg %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %x : !torch.vtensor<[2],f32>
}

// -----
// Windows without strides have their own size for them: torch-mlir reads beyond the empty list.
// CHECK-LABEL: func.func @windows
// CHECK: %[[K:.*]] = torch.prim.ListConstruct %{{.*}}, %{{.*}}
// CHECK: torch.aten.max_pool2d %arg0, %[[K]], %[[K]],
func.func @windows(%x: !torch.vtensor<[1,1,4,4],f32>) -> !torch.vtensor<[1,1,2,2],f32> {
  %two = torch.constant.int 2
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %false = torch.constant.bool false
  %k = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %s = torch.prim.ListConstruct : () -> !torch.list<int>
  %p = torch.prim.ListConstruct %zero, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %d = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.max_pool2d %x, %k, %s, %p, %d, %false : !torch.vtensor<[1,1,4,4],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,1,2,2],f32>
  return %0 : !torch.vtensor<[1,1,2,2],f32>
}

// -----
// A copy that is a result on one path, where the other gives the argument itself, is no argument on both.
// CHECK-LABEL: func.func @copies
// CHECK: %[[C:.*]] = torch.aten.clone
// CHECK: %[[H:.*]] = "tierup.hidden"(%[[C]]) {own}
// CHECK: torch.prim.If.yield %[[H]]
// BACK-LABEL: func.func @copies
// BACK: torch.prim.If %arg1
// BACK: torch.aten.clone
func.func @copies(%x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.vtensor<[2],f32> attributes {tierup.result_aliases = ["may_view:0"]} {
  %none = torch.constant.none
  %0 = torch.prim.If %c -> (!torch.vtensor<[2],f32>) {
    %1 = torch.aten.clone %x, %none : !torch.vtensor<[2],f32>, !torch.none -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %1 : !torch.vtensor<[2],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[2],f32>
  }
  return %0 : !torch.vtensor<[2],f32>
}

// -----
// A copy of what is written to an argument folds into it; on the path where it is the result it is a copy again.
// CHECK-LABEL: func.func @of_what_is_written
// CHECK: %[[W:.*]] = torch.aten.neg
// CHECK: %[[R:.*]] = "tierup.hidden"(%[[W]]) :
// CHECK: %[[C:.*]] = torch.aten.clone %[[R]]
// CHECK: %[[H:.*]] = "tierup.hidden"(%[[C]]) {own}
// BACK-LABEL: func.func @of_what_is_written
// BACK: %[[W:.*]] = torch.aten.neg
// BACK: torch.prim.If %arg1
// BACK: %[[C:.*]] = torch.aten.clone %[[W]]
// BACK: torch.prim.If.yield %[[C]]
// BACK: torch.prim.If.yield %[[W]]
// BACK-NOT: tierup.hidden
func.func @of_what_is_written(%x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) attributes {tierup.result_aliases = ["may_view:0"], tierup.writebacks = array<i64: 0>} {
  %none = torch.constant.none
  %w = torch.aten.neg %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  %0 = torch.prim.If %c -> (!torch.vtensor<[2],f32>) {
    %1 = torch.aten.clone %w, %none : !torch.vtensor<[2],f32>, !torch.none -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %1 : !torch.vtensor<[2],f32>
  } else {
    torch.prim.If.yield %w : !torch.vtensor<[2],f32>
  }
  return %0, %w : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>
}

// -----
// Of an axis that becomes [1, n] torch-mlir makes an unsqueeze at the same number, which is another axis where it counts from the end.
// CHECK-LABEL: func.func @unflatten
// CHECK: %[[L:.*]] = torch.prim.ListConstruct
// CHECK: %[[H:.*]] = "tierup.hidden"(%[[L]])
// CHECK: torch.aten.unflatten.int %arg0, %int-1, %[[H]]
// BACK-LABEL: func.func @unflatten
// BACK: %[[L:.*]] = torch.prim.ListConstruct
// BACK: torch.aten.unflatten.int %arg0, %int-1, %[[L]]
func.func @unflatten(%x: !torch.vtensor<[?],si64>) -> !torch.vtensor<[1,?],si64> {
  %last = torch.constant.int -1
  %one = torch.constant.int 1
  %sizes = torch.prim.ListConstruct %one, %last : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.unflatten.int %x, %last, %sizes : !torch.vtensor<[?],si64>, !torch.int, !torch.list<int> -> !torch.vtensor<[1,?],si64>
  return %0 : !torch.vtensor<[1,?],si64>
}

// -----
// Numbers are computed of hidden ones, each hidden once: torch-mlir folds a division by what it folds to zero.
// CHECK-LABEL: func.func @division
// CHECK: %[[A:.*]] = "tierup.hidden"(%arg0)
// CHECK: %[[S:.*]] = "tierup.hidden"(%int7)
// CHECK: %[[N:.*]] = torch.aten.mul.int %{{.*}}, %[[A]]
// CHECK: %[[H:.*]] = "tierup.hidden"(%[[N]])
// CHECK: torch.operator "aten.remainder.int"(%[[S]], %[[H]])
// CHECK: torch.operator "aten.remainder.int"(%[[A]], %[[S]])
// BACK-LABEL: func.func @division
// BACK: %[[N:.*]] = torch.aten.mul.int %int0, %arg0
// BACK: torch.aten.remainder.int %int7, %[[N]]
// BACK: torch.aten.remainder.int %arg0, %int7
func.func @division(%n: !torch.int) -> !torch.int {
  %seven = torch.constant.int 7
  %zero = torch.constant.int 0
  %0 = torch.aten.mul.int %zero, %n : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.remainder.int %seven, %0 : !torch.int, !torch.int -> !torch.int
  %2 = torch.aten.remainder.int %n, %seven : !torch.int, !torch.int -> !torch.int
  return %2 : !torch.int
}

// -----
// An op that may raise, or reduces, is not its operand though it has its type; one that does neither may be.
// CHECK-LABEL: func.func @no_operands
// CHECK: %[[S:.*]] = torch.operator "aten.index_select"(%arg0,
// CHECK: torch.operator "aten.any.dims"(%arg1,
// CHECK: torch.aten.detach %[[S]]
// BACK-LABEL: func.func @no_operands
// BACK: %[[S:.*]] = torch.aten.index_select %arg0
// BACK: %[[A:.*]] = torch.aten.any.dims %arg1
// BACK: return %[[S]], %[[A]]
func.func @no_operands(%x: !torch.vtensor<[1],f32>, %b: !torch.vtensor<[],ui8>, %i: !torch.vtensor<[1],si64>) -> (!torch.vtensor<[1],f32>, !torch.vtensor<[],ui8>) {
  %zero = torch.constant.int 0
  %none = torch.constant.none
  %true = torch.constant.bool true
  %0 = torch.aten.index_select %x, %zero, %i : !torch.vtensor<[1],f32>, !torch.int, !torch.vtensor<[1],si64> -> !torch.vtensor<[1],f32>
  %1 = torch.aten.any.dims %b, %none, %true : !torch.vtensor<[],ui8>, !torch.none, !torch.bool -> !torch.vtensor<[],ui8>
  %2 = torch.aten.detach %0 : !torch.vtensor<[1],f32> -> !torch.vtensor<[1],f32>
  return %2, %1 : !torch.vtensor<[1],f32>, !torch.vtensor<[],ui8>
}

// -----
// A conversion to no dtype names the one that it has: torch-mlir makes a broken op of it.
// CHECK-LABEL: func.func @conversion
// CHECK: torch.aten.to.dtype_layout %arg0, %int6,
func.func @conversion(%x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.vtensor<[2],f32> {
  %none = torch.constant.none
  %0 = torch.aten.to.dtype_layout %x, %none, %none, %none, %none, %c, %c, %none : !torch.vtensor<[2],f32>, !torch.none, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
