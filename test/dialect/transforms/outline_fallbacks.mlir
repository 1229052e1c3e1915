// RUN: tierup-opt %s --tierup-outline-fallbacks --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --tierup-outline-fallbacks --tierup-outline-fallbacks | FileCheck %s

// The name with number 0 is taken.
// CHECK-LABEL: func.func @f
// CHECK: torch.prim.If %arg1
// CHECK: call @f_fallback_1(%arg0) : (!torch.vtensor) -> !torch.vtensor
// CHECK: } else {
// CHECK: [[R:%.+]]:2 = func.call @f_fallback_2(%arg0, %arg1) : (!torch.vtensor, !torch.bool) -> (!torch.vtensor, !torch.bool)
// CHECK: torch.prim.If.yield [[R]]#0
func.func @f(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor attributes {tierup.source = "jit"} {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = "tierup.fallback"(%x) ({
    ^bb0(%a: !torch.vtensor):
      %2 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      "tierup.yield"(%2) : (!torch.vtensor) -> ()
    }, {}) : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1:2 = "tierup.fallback"(%x, %c) ({
    ^bb0(%a: !torch.vtensor, %b: !torch.bool):
      "tierup.yield"(%a, %b) : (!torch.vtensor, !torch.bool) -> ()
    }, {}) : (!torch.vtensor, !torch.bool) -> (!torch.vtensor, !torch.bool)
    torch.prim.If.yield %1#0 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// CHECK-LABEL: func.func @f_fallback_0
func.func @f_fallback_0(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// CHECK: func.func private @f_fallback_1(%arg0: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback, tierup.source = "jit"} {
// CHECK-NEXT: [[Y:%.+]] = torch.aten.tanh %arg0
// CHECK-NEXT: return [[Y]]
// CHECK: func.func private @f_fallback_2(%arg0: !torch.vtensor, %arg1: !torch.bool)
// CHECK-NOT: f_fallback_3
