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
// CHECK: torch.aten.full {{.*}} -> !torch.vtensor{{$}}
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

// -----

// An answer that decides something else too is still needed.
// CHECK-LABEL: func.func @two_readers
// CHECK: tierup.check
// CHECK: torch.prim.If
// CHECK: torch.aten.tanh
// CHECK: call @twin
// CHECK: torch.prim.If
func.func @two_readers(%x: !torch.vtensor, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor) {
  %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %both = torch.aten.__and__.bool %ok, %c : !torch.bool, !torch.bool -> !torch.bool
  %0 = torch.prim.If %ok -> (!torch.vtensor) {
    %2 = torch.aten.tanh %v : !torch.vtensor<[4],f32> -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %2 = func.call @twin(%x) : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  %1 = torch.prim.If %both -> (!torch.vtensor) {
    torch.prim.If.yield %x : !torch.vtensor
  } else {
    torch.prim.If.yield %0 : !torch.vtensor
  }
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
// A check that only a conjunction reads.
// CHECK-LABEL: func.func @conjunction
// CHECK: tierup.check
// CHECK: torch.aten.__and__.bool
func.func @conjunction(%x: !torch.vtensor, %c: !torch.bool) -> !torch.bool {
  %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %both = torch.aten.__and__.bool %ok, %c : !torch.bool, !torch.bool -> !torch.bool
  return %both : !torch.bool
}
// A fallback is one site, whatever it calls.
// CHECK-LABEL: func.func private @twin
// CHECK-SAME: attributes {tierup.fallback} {
// CHECK: call @inner
func.func private @twin(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
  %0 = func.call @inner(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @inner(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----

// A call of the user's is no region.
// CHECK-LABEL: func.func @calls
// CHECK-NOT: tierup.regions
// CHECK: call @helper
func.func @calls(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @helper(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @helper(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----

// Whether values inside share memory is told by results that do: there are none here.
// CHECK: func.func private @apart_fallback_0
// CHECK-SAME: attributes {tierup.fallback, tierup.values}
func.func @apart(%x: !torch.vtensor) -> (!torch.vtensor) attributes {tierup.result_aliases = ["fresh"]} {
  %0 = func.call @apart_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @apart_fallback_0(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}
// Here there are.
// CHECK: func.func private @shared_fallback_0
// CHECK-SAME: attributes {tierup.fallback} {
func.func @shared(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) attributes {tierup.result_aliases = ["fresh", "result:0"]} {
  %0 = func.call @shared_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0, %0 : !torch.vtensor, !torch.vtensor
}
func.func private @shared_fallback_0(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}
