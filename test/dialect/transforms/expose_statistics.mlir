// RUN: tierup-opt %s --pass-pipeline="builtin.module(func.func(tierup-expose-statistics))" | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(func.func(tierup-expose-statistics,tierup-expose-statistics))" | FileCheck %s

!t = !torch.vtensor

// CHECK-LABEL: func.func @layer_norm
// CHECK: %[[R:.*]], %{{.*}}, %{{.*}} = torch.aten.native_layer_norm %arg0, %{{.*}}, %arg1, %arg2, %{{.*}} : !torch.vtensor,
// CHECK-NOT: aten.layer_norm
// CHECK: return %[[R]]
func.func @layer_norm(%x: !t, %w: !t, %b: !t) -> !t {
  %n = torch.constant.int 4
  %eps = torch.constant.float 1.000000e-05
  %false = torch.constant.bool false
  %shape = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.layer_norm %x, %shape, %w, %b, %eps, %false : !t, !torch.list<int>, !t, !t, !torch.float, !torch.bool -> !t
  return %0 : !t
}

// Samples, channels and places per channel are asked for; a refined type stays that of the first result.
// CHECK-LABEL: func.func @group_norm
// CHECK: %[[N:.*]] = torch.aten.size.int %arg0, %int0
// CHECK: %[[C:.*]] = torch.aten.size.int %arg0, %int1
// CHECK: %[[ROWS:.*]] = torch.aten.mul.int %[[N]], %[[C]]
// CHECK: %[[SOME:.*]] = torch.prim.max.int %[[ROWS]], %{{.*}}
// CHECK: %[[ALL:.*]] = torch.aten.numel %arg0
// CHECK: %[[PLACES:.*]] = torch.aten.floordiv.int %[[ALL]], %[[SOME]]
// CHECK: %[[R:.*]], %{{.*}}, %{{.*}} = torch.aten.native_group_norm %arg0, %none, %none, %[[N]], %[[C]], %[[PLACES]], %int2, %{{.*}} -> !torch.vtensor<[3,4,2],f32>, !torch.vtensor, !torch.vtensor
// CHECK: return %[[R]]
func.func @group_norm(%x: !torch.vtensor<[3,4,2],f32>) -> !torch.vtensor<[3,4,2],f32> {
  %groups = torch.constant.int 2
  %eps = torch.constant.float 1.000000e-05
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.group_norm %x, %groups, %none, %none, %eps, %false : !torch.vtensor<[3,4,2],f32>, !torch.int, !torch.none, !torch.none, !torch.float, !torch.bool -> !torch.vtensor<[3,4,2],f32>
  return %0 : !torch.vtensor<[3,4,2],f32>
}

// In a branch; whether it trains is for the run to say.
// CHECK-LABEL: func.func @batch_norm
// CHECK: torch.prim.If
// CHECK: %[[R:.*]], %{{.*}}, %{{.*}} = torch.aten.native_batch_norm %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %{{.*}}, %{{.*}}
// CHECK-NEXT: torch.prim.If.yield %[[R]]
func.func @batch_norm(%x: !t, %w: !t, %b: !t, %m: !t, %v: !t, %training: !torch.bool) -> !t {
  %eps = torch.constant.float 1.000000e-05
  %momentum = torch.constant.float 1.000000e-01
  %false = torch.constant.bool false
  %0 = torch.prim.If %training -> (!t) {
    torch.prim.If.yield %x : !t
  } else {
    %1 = torch.aten.batch_norm %x, %w, %b, %m, %v, %training, %momentum, %eps, %false : !t, !t, !t, !t, !t, !torch.bool, !torch.float, !torch.float, !torch.bool -> !t
    torch.prim.If.yield %1 : !t
  }
  return %0 : !t
}

// Others stay.
// CHECK-LABEL: func.func @softmax
// CHECK: torch.aten.softmax.int
func.func @softmax(%x: !t, %d: !torch.int) -> !t {
  %none = torch.constant.none
  %0 = torch.aten.softmax.int %x, %d, %none : !t, !torch.int, !torch.none -> !t
  return %0 : !t
}
