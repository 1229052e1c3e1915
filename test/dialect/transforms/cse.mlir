// RUN: tierup-opt %s --tierup-cse --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-cse --tierup-cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @equal_ops_merge
func.func @equal_ops_merge(%x: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.int, !torch.int) {
  // CHECK: %[[T:.*]] = torch.aten.tanh
  // CHECK-NOT: torch.aten.tanh
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  // CHECK: torch.aten.matmul %[[T]], %[[T]]
  // CHECK-NOT: torch.aten.matmul
  %2 = torch.aten.matmul %0, %1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.matmul %1, %0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  // CHECK: %[[N:.*]] = torch.aten.add.int
  // CHECK-NEXT: return %{{.*}}, %[[N]], %[[N]]
  %4 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
  %5 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
  return %3, %4, %5 : !torch.vtensor, !torch.int, !torch.int
}

// -----
// Constants of different types, and zeros of different signs, are different.
// CHECK-LABEL: func.func @constants
func.func @constants() -> (!torch.int, !torch.int, !torch.bool, !torch.float, !torch.str, !torch.float, !torch.float, !torch.none, !torch.int) {
  // CHECK: %[[ONE:.*]] = torch.constant.int 1
  // CHECK: %[[TRUE:.*]] = torch.constant.bool true
  // CHECK: %[[F:.*]] = torch.constant.float 1.000000e+00
  // CHECK: %[[S:.*]] = torch.constant.str "1"
  // CHECK: %[[Z:.*]] = torch.constant.float 0.000000e+00
  // CHECK: %[[M:.*]] = torch.constant.float -0.000000e+00
  // CHECK: %[[NONE:.*]] = torch.constant.none
  // CHECK-NOT: torch.constant
  %0 = torch.constant.int 1
  %1 = torch.constant.bool true
  %2 = torch.constant.float 1.0
  %3 = torch.constant.str "1"
  %4 = torch.constant.float 0.0
  %5 = torch.constant.float -0.0
  %6 = torch.constant.none
  %7 = torch.constant.int 1
  // CHECK: return %[[ONE]], %[[ONE]], %[[TRUE]], %[[F]], %[[S]], %[[Z]], %[[M]], %[[NONE]], %[[ONE]]
  return %0, %7, %1, %2, %3, %4, %5, %6, %7 : !torch.int, !torch.int, !torch.bool, !torch.float, !torch.str, !torch.float, !torch.float, !torch.none, !torch.int
}

// -----
// Lists and tuples of such are different too.
// CHECK-LABEL: func.func @containers_of_constants
func.func @containers_of_constants() -> (!torch.int, !torch.int, !torch.int) {
  %0 = torch.constant.int 1
  %1 = torch.constant.bool true
  %2 = torch.constant.float 1.0
  // CHECK: %[[A:.*]] = torch.prim.ListConstruct %int1
  // CHECK: %[[B:.*]] = torch.prim.ListConstruct %true
  // CHECK: %[[C:.*]] = torch.prim.ListConstruct %float
  // CHECK-NOT: torch.prim.ListConstruct
  %3 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %4 = torch.prim.ListConstruct %1 : (!torch.bool) -> !torch.list<bool>
  %5 = torch.prim.ListConstruct %2 : (!torch.float) -> !torch.list<float>
  %6 = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %7 = torch.aten.len.t %3 : !torch.list<int> -> !torch.int
  %8 = torch.aten.len.t %6 : !torch.list<int> -> !torch.int
  %9 = torch.aten.len.t %4 : !torch.list<bool> -> !torch.int
  %10 = torch.aten.len.t %5 : !torch.list<float> -> !torch.int
  // CHECK: return %[[L:.*]], %[[M:.*]], %{{.*}} :
  %11 = torch.aten.add.int %7, %8 : !torch.int, !torch.int -> !torch.int
  return %11, %9, %10 : !torch.int, !torch.int, !torch.int
}

// -----
// CHECK-LABEL: func.func @promotion_is_part_of_the_op
func.func @promotion_is_part_of_the_op(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  // CHECK: %[[N:.*]] = torch.aten.mul.Tensor %arg0, %arg1 {tierup.promotion = "numpy"}
  // CHECK: %[[T:.*]] = torch.aten.mul.Tensor %arg0, %arg1 :
  // CHECK: torch.aten.matmul %[[N]], %[[T]]
  %0 = torch.aten.mul.Tensor %x, %y {tierup.promotion = "numpy"} : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.matmul %0, %1 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %2 : !torch.vtensor
}

// -----
// Branches see what stands before them, and not each other.
// CHECK-LABEL: func.func @scopes
func.func @scopes(%c: !torch.bool, %n: !torch.int, %x: !torch.vtensor) -> (!torch.int, !torch.int) {
  // CHECK: %[[A:.*]] = torch.aten.add.int
  %0 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
  // CHECK: torch.prim.If
  %1:2 = torch.prim.If %c -> (!torch.int, !torch.int) {
    // CHECK-NEXT: %[[T:.*]] = torch.aten.mul.int
    // CHECK-NEXT: torch.prim.If.yield %[[A]], %[[T]]
    %2 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.mul.int %n, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %2, %3 : !torch.int, !torch.int
  } else {
    // CHECK: %[[F:.*]] = torch.aten.mul.int
    // CHECK-NEXT: torch.prim.If.yield %[[F]], %[[A]]
    %2 = torch.aten.mul.int %n, %n : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int
    torch.prim.If.yield %2, %3 : !torch.int, !torch.int
  }
  // CHECK: torch.aten.mul.int
  %4 = torch.aten.mul.int %n, %n : !torch.int, !torch.int -> !torch.int
  %5 = torch.aten.add.int %1#0, %1#1 : !torch.int, !torch.int -> !torch.int
  return %4, %5 : !torch.int, !torch.int
}

// -----
// A group's body sees its arguments only.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  // CHECK: torch.constant.int 1
  %one = torch.constant.int 1
  %y = torch.aten.add.Scalar %x, %one, %one : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
  // CHECK: tierup.fusion_group
  %0 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    // CHECK: torch.constant.int 1
    // CHECK: %[[T:.*]] = torch.aten.tanh
    // CHECK-NEXT: torch.aten.add.Tensor %[[T]], %[[T]]
    %k = torch.constant.int 1
    %1 = torch.aten.tanh %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    %2 = torch.aten.tanh %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    %3 = torch.aten.add.Tensor %1, %2, %k : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor<[2],f32>
    "tierup.yield"(%3) : (!torch.vtensor<[2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// -----
// Two outputs stay two objects; of one output and a temporary one is left.
// CHECK-LABEL: func.func @outputs
func.func @outputs(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  // CHECK: %[[A:.*]] = torch.aten.tanh
  // CHECK: %[[B:.*]] = torch.aten.tanh
  // CHECK-NOT: torch.aten.tanh
  // CHECK: %[[M:.*]] = torch.aten.matmul %[[A]], %[[A]]
  // CHECK: return %[[A]], %[[B]], %[[M]]
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.matmul %0, %2 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %0, %1, %3 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// The first has become an output by the time that the third is looked at.
// CHECK-LABEL: func.func @becoming_an_output
func.func @becoming_an_output(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
  // CHECK: %[[A:.*]] = torch.aten.tanh
  // CHECK: %[[V:.*]] = torch.aten.detach %[[A]]
  // CHECK: %[[B:.*]] = torch.aten.tanh
  // CHECK: return %[[V]], %[[B]], %{{.*}}
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %v = torch.aten.detach %1 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.matmul %0, %0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %v, %2, %3 : !torch.vtensor, !torch.vtensor, !torch.vtensor
}

// -----
// What a list holds that is returned is an output, each round's by itself.
// CHECK-LABEL: func.func @lists_that_grow
func.func @lists_that_grow(%x: !torch.vtensor, %n: !torch.int) -> (!torch.list<vtensor>, !torch.vtensor) {
  %true = torch.constant.bool true
  // CHECK: torch.aten.tanh
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %l = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  // CHECK: torch.prim.Loop
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    // CHECK: %[[R:.*]] = torch.aten.tanh
    // CHECK-NEXT: torch.aten.append.t %{{.*}}, %[[R]]
    %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.append.t %l, %1 : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  %3 = torch.aten.matmul %0, %0 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  return %l, %3 : !torch.list<vtensor>, !torch.vtensor
}

// -----
// Whatever touches written memory stays, before the write too.
// CHECK-LABEL: func.func @written_memory
func.func @written_memory(%x: !torch.tensor, %y: !torch.tensor) -> !torch.float {
  // CHECK-COUNT-2: torch.aten.exp %arg0
  // CHECK-COUNT-2: torch.aten.tanh
  // CHECK: torch.aten.zero_
  %0 = torch.aten.exp %x : !torch.tensor -> !torch.tensor
  %1 = torch.aten.exp %x : !torch.tensor -> !torch.tensor
  %2 = torch.aten.tanh %0 : !torch.tensor -> !torch.tensor
  %3 = torch.aten.tanh %0 : !torch.tensor -> !torch.tensor
  %4 = torch.aten.zero_ %2 : !torch.tensor -> !torch.tensor
  %5 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
  // CHECK-COUNT-2: torch.aten.FloatImplicit
  %6 = torch.aten.FloatImplicit %3 : !torch.tensor -> !torch.float
  %7 = torch.aten.FloatImplicit %2 : !torch.tensor -> !torch.float
  %8 = torch.aten.add %6, %7 : !torch.float, !torch.float -> !torch.float
  return %8 : !torch.float
}

// -----
// Memory that nobody writes may be read once.
// CHECK-LABEL: func.func @unwritten_memory
func.func @unwritten_memory(%x: !torch.tensor) -> !torch.tensor {
  // CHECK: torch.aten.exp
  // CHECK-NOT: torch.aten.exp
  %0 = torch.aten.exp %x : !torch.tensor -> !torch.tensor
  %1 = torch.aten.exp %x : !torch.tensor -> !torch.tensor
  %2 = torch.aten.matmul %0, %1 : !torch.tensor, !torch.tensor -> !torch.tensor
  return %2 : !torch.tensor
}

// -----
// Of two that may raise the first raises for both.
// CHECK-LABEL: func.func @what_may_raise
func.func @what_may_raise(%n: !torch.int, %m: !torch.int) -> !torch.int {
  // CHECK: torch.aten.floordiv.int
  // CHECK-NOT: torch.aten.floordiv.int
  %0 = torch.aten.floordiv.int %n, %m : !torch.int, !torch.int -> !torch.int
  %1 = torch.aten.floordiv.int %n, %m : !torch.int, !torch.int -> !torch.int
  %2 = torch.aten.add.int %0, %1 : !torch.int, !torch.int -> !torch.int
  return %2 : !torch.int
}

// -----
// Profiles record, assertions act, guards are others' business.
// CHECK-LABEL: func.func @left_alone
func.func @left_alone(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  // CHECK-COUNT-2: torch.runtime.assert
  torch.runtime.assert %c, "no"
  torch.runtime.assert %c, "no"
  // CHECK-COUNT-2: tierup.profile
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%x) {slot = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
  // CHECK-COUNT-2: torch.aten.tanh
  %2 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.matmul %2, %3 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  // CHECK-COUNT-2: tierup.guard
  %5 = "tierup.guard"(%4) {expected = #tierup.profiled<f32[2] defined>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  %6 = "tierup.guard"(%4) {expected = #tierup.profiled<f32[2] defined>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  "tierup.count_run"() : () -> ()
  return %4 : !torch.vtensor
}

// -----
// One op, and the types of what it gives differ.
// CHECK-LABEL: func.func @result_types
func.func @result_types(%x: !torch.vtensor) -> !torch.vtensor {
  // CHECK-COUNT-2: torch.aten.tanh
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor<[2],f32>
  %2 = torch.aten.matmul %0, %1 : !torch.vtensor, !torch.vtensor<[2],f32> -> !torch.vtensor
  return %2 : !torch.vtensor
}
