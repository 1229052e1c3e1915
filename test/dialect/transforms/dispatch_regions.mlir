// RUN: tierup-opt %s --split-input-file --tierup-dispatch-regions | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-dispatch-regions --tierup-dispatch-regions | FileCheck %s

// A guarded region becomes a call of its twin; check and group are gone.
// CHECK-LABEL: func.func @f
// CHECK-SAME: tierup.regions = [@f_fallback_0]
// CHECK-NOT: tierup.check
// CHECK: %[[R:.*]] = call @f_fallback_0(%arg0) : (!torch.vtensor) -> !torch.vtensor
// CHECK-NOT: fusion_group
// CHECK: %[[S:.*]], %{{.*}} = torch.aten.sort %[[R]]
// CHECK: return %[[S]]
// CHECK: func.func private @f_fallback_0
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %int0 = torch.constant.int 0
  %false = torch.constant.bool false
  %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %0 = torch.prim.If %ok -> (!torch.vtensor) {
    %1 = "tierup.fusion_group"(%v) ({
    ^bb0(%a: !torch.vtensor<[4],f32>):
      %3 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      "tierup.yield"(%3) : (!torch.vtensor<[4],f32>) -> ()
    }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
    %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %1 = func.call @f_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  %values, %indices = torch.aten.sort %0, %int0, %false : !torch.vtensor, !torch.int, !torch.bool -> !torch.vtensor, !torch.vtensor
  return %values : !torch.vtensor
}
func.func private @f_fallback_0(%a: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
  %0 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----

// A group that needed no check becomes a function of any values, and is called.
// CHECK-LABEL: func.func @g
// CHECK-SAME: tierup.regions = [@g_region_0]
// CHECK: call @g_region_0(%arg0) : (!torch.float) -> !torch.vtensor
// CHECK: func.func private @g_region_0(%arg0: !torch.float) -> !torch.vtensor attributes {tierup.fallback}
// CHECK: torch.aten.full {{.*}} -> !torch.vtensor
func.func @g(%v: !torch.float) -> !torch.vtensor {
  %0 = "tierup.fusion_group"(%v) ({
  ^bb0(%a: !torch.float):
    %int4 = torch.constant.int 4
    %none = torch.constant.none
    %size = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
    %1 = torch.aten.full %size, %a, %none, %none, %none, %none : !torch.list<int>, !torch.float, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[4],f32>
    %2 = torch.aten.tanh %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.float) -> !torch.vtensor<[4],f32>
  %3 = torch.tensor_static_info_cast %0 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %3 : !torch.vtensor
}

// -----

// A check that chooses between two programs of the user's is no region.
// CHECK-LABEL: func.func @h
// CHECK-NOT: tierup.regions
// CHECK: tierup.check
// CHECK: torch.prim.If
func.func @h(%x: !torch.vtensor) -> !torch.vtensor {
  %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %0 = torch.prim.If %ok -> (!torch.vtensor) {
    %1 = torch.aten.tanh %v : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}
