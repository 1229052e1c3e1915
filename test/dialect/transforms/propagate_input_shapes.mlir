// RUN: tierup-opt %s --split-input-file --tierup-propagate-input-shapes --tierup-verify-graph | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-propagate-input-shapes --tierup-propagate-input-shapes | FileCheck %s

// An op that raises where no run may come keeps its type; what the choice gives is the other arm's.
// CHECK-LABEL: func.func @an_arm_that_raises
// CHECK: torch.prim.If %{{.*}} -> (!torch.vtensor<[2,3],f32>)
// CHECK-NEXT: torch.aten.mm {{.*}} -> !torch.vtensor
// CHECK: torch.aten.tanh %arg0 : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
func.func @an_arm_that_raises(%x: !torch.vtensor<[2,3],f32>, %c: !torch.bool) -> !torch.vtensor {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.mm %x, %x : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// Arms and iterations join: sizes that differ are not known, dtype and rank stay.
// CHECK-LABEL: func.func @joins
// CHECK: torch.prim.If %{{.*}} -> (!torch.vtensor<[?],f32>)
// CHECK: torch.prim.Loop
// CHECK-NEXT: ^bb0(%{{.*}}: !torch.int, %{{.*}}: !torch.vtensor<[?],f32>):
// CHECK: torch.aten.cat {{.*}} -> !torch.vtensor<[?],f32>
func.func @joins(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<[3],f32>, %c: !torch.bool, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %plain = torch.tensor_static_info_cast %x : !torch.vtensor<[2],f32> to !torch.vtensor
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    torch.prim.If.yield %plain : !torch.vtensor
  } else {
    %1 = torch.aten.tanh %y : !torch.vtensor<[3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  %2 = torch.prim.Loop %n, %true, init(%plain) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %l = torch.prim.ListConstruct %a, %x : (!torch.vtensor, !torch.vtensor<[2],f32>) -> !torch.list<vtensor>
    %3 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%3 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0, %2 : !torch.vtensor, !torch.vtensor
}

// -----
// A branch that the types decide stays.
// CHECK-LABEL: func.func @branches_stay
// CHECK: torch.prim.If
func.func @branches_stay(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor {
  %two = torch.constant.int 2
  %n = torch.aten.dim %x : !torch.vtensor<[2,3],f32> -> !torch.int
  %c = torch.aten.eq.int %n, %two : !torch.int, !torch.int -> !torch.bool
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1 = torch.aten.exp %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// Nothing known, nothing said.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: torch.aten.tanh %arg0 : !torch.vtensor -> !torch.vtensor
func.func @unknown(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// What a call gives is typed behind the call, once: the casts of the first run are not cast again.
// CHECK-LABEL: func.func @around_a_call
// CHECK-NEXT: %[[C:.*]] = call @callee
// CHECK-NEXT: %[[T:.*]] = torch.tensor_static_info_cast %[[C]] : !torch.vtensor to !torch.vtensor<[2],si64>
// CHECK-NEXT: return %[[T]]
// CHECK-LABEL: func.func private @callee
// CHECK: %[[L:.*]] = torch.vtensor.literal
// CHECK-NEXT: %[[P:.*]] = torch.tensor_static_info_cast %[[L]]
// CHECK-NEXT: return %[[P]]
func.func @around_a_call() -> !torch.vtensor {
  %0 = call @callee() : () -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @callee() -> !torch.vtensor {
  %0 = torch.vtensor.literal(dense<[1, 2]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<[2],si64> to !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// So do pieces that do not come out, and products of what are no matrices: it is the run that raises.
// CHECK-LABEL: func.func @arms_that_cannot_cut_or_multiply
// CHECK: "tierup.constant_chunk"(%{{.*}}) {{.*}} : (!torch.vtensor<[2],f32>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor)
// CHECK: "tierup.constant_chunk"(%{{.*}}) {{.*}} : (!torch.vtensor<[2],f32>) -> !torch.vtensor
// CHECK: "tierup.batched_mm_tree"(%{{.*}}) : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> !torch.vtensor
// CHECK: "tierup.batched_mm_side"(%{{.*}}) {{.*}} : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> !torch.vtensor
func.func @arms_that_cannot_cut_or_multiply(%x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.vtensor {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.tanh %x : !torch.vtensor<[2],f32> -> !torch.vtensor
    %2:3 = "tierup.constant_chunk"(%1) {chunks = 3 : i64, dim = -1 : i64} : (!torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor)
    %3 = "tierup.constant_chunk"(%1) {chunks = 1 : i64, dim = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
    %4 = "tierup.batched_mm_tree"(%1, %1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
    %5 = "tierup.batched_mm_side"(%1, %1) {side = "left"} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2#0 : !torch.vtensor
  } else {
    %1 = torch.aten.exp %x : !torch.vtensor<[2],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}
