// RUN: tierup-opt %s --tierup-constant-pooling --split-input-file | FileCheck %s
// RUN: tierup-opt %s --tierup-constant-pooling --tierup-constant-pooling --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @one_number_twice
func.func @one_number_twice(%n: !torch.int) -> !torch.int {
  // CHECK-NEXT: %[[ONE:.*]] = torch.constant.int 1
  // CHECK-NEXT: %[[A:.*]] = torch.aten.add.int %arg0, %[[ONE]]
  // CHECK-NEXT: %[[B:.*]] = torch.aten.mul.int %[[A]], %[[ONE]]
  // CHECK-NEXT: return %[[B]]
  %0 = torch.constant.int 1
  %1 = torch.aten.add.int %n, %0 : !torch.int, !torch.int -> !torch.int
  %2 = torch.constant.int 1
  %3 = torch.aten.mul.int %1, %2 : !torch.int, !torch.int -> !torch.int
  return %3 : !torch.int
}

// -----
// One string of both arms, another of one of them; the first met comes first.
// CHECK-LABEL: func.func @branches
func.func @branches(%c: !torch.bool) -> (!torch.str, !torch.str) {
  // CHECK-NEXT: %[[ABC:.*]] = torch.constant.str "abc"
  // CHECK-NEXT: %[[BCD:.*]] = torch.constant.str "bcd"
  // CHECK-NEXT: torch.prim.If
  // CHECK-NEXT: torch.prim.If.yield %[[ABC]], %[[BCD]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: torch.prim.If.yield %[[ABC]], %[[ABC]]
  %0:2 = torch.prim.If %c -> (!torch.str, !torch.str) {
    %1 = torch.constant.str "abc"
    %2 = torch.constant.str "bcd"
    torch.prim.If.yield %1, %2 : !torch.str, !torch.str
  } else {
    %3 = torch.constant.str "abc"
    torch.prim.If.yield %3, %3 : !torch.str, !torch.str
  }
  return %0#0, %0#1 : !torch.str, !torch.str
}

// -----
// Types and bits must be the same.
// CHECK-LABEL: func.func @different_constants
func.func @different_constants(%x: !torch.vtensor) -> !torch.vtensor {
  // CHECK-NEXT: torch.constant.int 1
  // CHECK-NEXT: torch.constant.bool true
  // CHECK-NEXT: torch.constant.float 1.0
  // CHECK-NEXT: torch.constant.float 0.0
  // CHECK-NEXT: torch.constant.float -0.0
  // CHECK-NEXT: torch.constant.str "1"
  // CHECK-NEXT: torch.constant.none
  // CHECK-NEXT: torch.constant.device "cpu"
  // CHECK-NEXT: torch.vtensor.literal(dense<2.0{{.*}}> : tensor<f32>)
  // CHECK-NEXT: torch.vtensor.literal(dense<2> : tensor<si64>)
  // CHECK-NEXT: torch.vtensor.literal(dense<2.0{{.*}}> : tensor<f64>)
  // CHECK-NEXT: torch.vtensor.literal(dense<2.0{{.*}}> : tensor<1xf32>)
  // CHECK-NEXT: return
  %0 = torch.constant.int 1
  %1 = torch.constant.bool true
  %2 = torch.constant.float 1.0
  %3 = torch.constant.float 0.0
  %4 = torch.constant.float -0.0
  %5 = torch.constant.str "1"
  %6 = torch.constant.none
  %7 = torch.constant.device "cpu"
  %8 = torch.vtensor.literal(dense<2.0> : tensor<f32>) : !torch.vtensor<[],f32>
  %9 = torch.vtensor.literal(dense<2> : tensor<si64>) : !torch.vtensor<[],si64>
  %10 = torch.vtensor.literal(dense<2.0> : tensor<f64>) : !torch.vtensor<[],f64>
  %11 = torch.vtensor.literal(dense<2.0> : tensor<1xf32>) : !torch.vtensor<[1],f32>
  %12 = torch.vtensor.literal(dense<2.0> : tensor<f32>) : !torch.vtensor<[],f32>
  return %x : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @outputs_stay_two
func.func @outputs_stay_two() -> (!torch.vtensor<[1],f32>, !torch.vtensor<[1],f32>) {
  // CHECK-NEXT: %[[A:.*]] = torch.vtensor.literal
  // CHECK-NEXT: %[[B:.*]] = torch.vtensor.literal
  // CHECK-NEXT: return %[[A]], %[[B]]
  %0 = torch.vtensor.literal(dense<1.0> : tensor<1xf32>) : !torch.vtensor<[1],f32>
  %1 = torch.vtensor.literal(dense<1.0> : tensor<1xf32>) : !torch.vtensor<[1],f32>
  return %0, %1 : !torch.vtensor<[1],f32>, !torch.vtensor<[1],f32>
}

// -----
// A literal that may be written is made anew in every round.
// CHECK-LABEL: func.func @mutable_literals_stay
func.func @mutable_literals_stay(%n: !torch.int) {
  // CHECK-NEXT: torch.constant.bool true
  // CHECK-NEXT: torch.tensor.literal
  %0 = torch.tensor.literal(dense<1.0> : tensor<1xf32>) : !torch.tensor<[1],f32>
  %true = torch.constant.bool true
  // CHECK-NEXT: torch.prim.Loop
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    // CHECK: torch.tensor.literal
    %1 = torch.tensor.literal(dense<1.0> : tensor<1xf32>) : !torch.tensor<[1],f32>
    %2 = torch.aten.exp_ %1 : !torch.tensor<[1],f32> -> !torch.tensor<[1],f32>
    %t = torch.constant.bool true
    torch.prim.Loop.condition %t, iter()
  } : (!torch.int, !torch.bool) -> ()
  return
}

// -----
// Groups have constants of their own.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  // CHECK-NEXT: %[[ONE:.*]] = torch.constant.int 1
  // CHECK-NEXT: tierup.fusion_group
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: %[[INNER:.*]] = torch.constant.int 1
  // CHECK-NEXT: %[[A:.*]] = torch.aten.add.Scalar %{{.*}}, %[[INNER]], %[[INNER]]
  // CHECK-NEXT: torch.aten.add.Scalar %[[A]], %[[INNER]], %[[INNER]]
  // CHECK-NEXT: tierup.yield
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    %k = torch.constant.int 1
    %1 = torch.aten.add.Scalar %a, %k, %k : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
    %m = torch.constant.int 1
    %2 = torch.aten.add.Scalar %1, %m, %m : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  %one = torch.constant.int 1
  // CHECK: torch.aten.add.Scalar %{{.*}}, %[[ONE]], %[[ONE]]
  %3 = torch.aten.add.Scalar %0, %one, %one : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
  return %3 : !torch.vtensor<[2],f32>
}

// -----
// The list gets a tensor per round; the one that only feeds an op is hoisted.
// CHECK-LABEL: func.func @one_tensor_per_round
func.func @one_tensor_per_round(%n: !torch.int, %x: !torch.vtensor) -> (!torch.list<vtensor>, !torch.vtensor) {
  // CHECK-NEXT: torch.constant.bool true
  // CHECK-NEXT: torch.vtensor.literal(dense<2.0
  // CHECK-NEXT: torch.prim.ListConstruct
  %true = torch.constant.bool true
  %l = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  // CHECK: torch.prim.Loop
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %y: !torch.vtensor):
    // CHECK: torch.vtensor.literal(dense<1.0
    %0 = torch.vtensor.literal(dense<1.0> : tensor<1xf32>) : !torch.vtensor<[1],f32>
    %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<[1],f32> to !torch.vtensor
    %2 = torch.aten.append.t %l, %1 : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %3 = torch.vtensor.literal(dense<2.0> : tensor<1xf32>) : !torch.vtensor<[1],f32>
    %4 = torch.aten.mul.Tensor %y, %3 : !torch.vtensor, !torch.vtensor<[1],f32> -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %l, %r : !torch.list<vtensor>, !torch.vtensor
}

// -----
// A group in a branch has its own, too.
// CHECK-LABEL: func.func @group_in_a_branch
func.func @group_in_a_branch(%c: !torch.bool, %x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  // CHECK: ^bb0
  // CHECK-NEXT: %[[K:.*]] = torch.constant.int 1
  // CHECK-NEXT: torch.aten.add.Scalar %{{.*}}, %[[K]], %[[K]]
  // CHECK-NEXT: tierup.yield
  %0 = torch.prim.If %c -> (!torch.vtensor<[2],f32>) {
    %1 = "tierup.fusion_group"(%x) ({
    ^bb0(%a: !torch.vtensor<[2],f32>):
      %k = torch.constant.int 1
      %m = torch.constant.int 1
      %2 = torch.aten.add.Scalar %a, %k, %m : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
      "tierup.yield"(%2) : (!torch.vtensor<[2],f32>) -> ()
    }, {}) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %1 : !torch.vtensor<[2],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[2],f32>
  }
  return %0 : !torch.vtensor<[2],f32>
}
