// RUN: tierup-opt %s --split-input-file --tierup-check-strict-fusion="single" --verify-diagnostics
// RUN: tierup-opt %s --split-input-file --tierup-check-strict-fusion | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-check-strict-fusion --tierup-check-strict-fusion > %t.checked
// RUN: tierup-opt %s --split-input-file > %t.unchanged
// RUN: diff %t.checked %t.unchanged

// CHECK-LABEL: func.func @one_in_each_arm
!t = !torch.vtensor<[4],f32>
func.func @one_in_each_arm(%x: !t, %y: !torch.vtensor) -> !t {
  %v, %ok = "tierup.check"(%y) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!t, !torch.bool)
  %0 = torch.prim.If %ok -> (!t) {
    %1 = "tierup.fusion_group"(%v) ({
    ^bb0(%a: !t):
      %2 = torch.aten.tanh %a : !t -> !t
      "tierup.yield"(%2) : (!t) -> ()
    }, {}) : (!t) -> !t
    torch.prim.If.yield %1 : !t
  } else {
    %1 = "tierup.fusion_group"(%x) ({
    ^bb0(%a: !t):
      %2 = torch.aten.tanh %a : !t -> !t
      "tierup.yield"(%2) : (!t) -> ()
    }, {}) : (!t) -> !t
    torch.prim.If.yield %1 : !t
  }
  return %0 : !t
}

// -----
// CHECK-LABEL: func.func @two
!t = !torch.vtensor<[4],f32>
func.func @two(%x: !t) -> !t {
  // expected-note@below {{the first one}}
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !t):
    %2 = torch.aten.tanh %a : !t -> !t
    "tierup.yield"(%2) : (!t) -> ()
  }, {}) : (!t) -> !t
  // expected-error@below {{'tierup.fusion_group' op is one more fusion group}}
  %1 = "tierup.fusion_group"(%0) ({
  ^bb0(%a: !t):
    %2 = torch.aten.tanh %a : !t -> !t
    "tierup.yield"(%2) : (!t) -> ()
  }, {}) : (!t) -> !t
  return %1 : !t
}
