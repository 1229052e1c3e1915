// RUN: tierup-opt %s --tierup-decide-gradient | FileCheck %s
// RUN: tierup-opt %s --tierup-decide-gradient --tierup-decide-gradient | FileCheck %s
// RUN: tierup-opt %s --tierup-decide-gradient --tierup-create-differentiable-subgraphs | FileCheck %s --check-prefix=GROUPS
// GROUPS-NOT: needs_gradient

// A record of a gradient that was wanted decides, in a branch too, and so does an argument that says so.
// CHECK: func.func @wanted({{.*}} attributes {tierup.needs_gradient = true}
// GROUPS-LABEL: func.func @wanted
// GROUPS: "tierup.differentiable"
func.func @wanted(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %r = torch.prim.If %c -> (!torch.vtensor) {
    %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
    %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
    %2 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %3 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  }
  return %r : !torch.vtensor
}

// CHECK: func.func @argument({{.*}} attributes {tierup.needs_gradient = true}
func.func @argument(%x: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// None did. An argument that nothing was recorded of may still require one: what was seen decides.
// CHECK: func.func @none({{.*}} attributes {tierup.needs_gradient = false}
// GROUPS-LABEL: func.func @none
// GROUPS-NOT: "tierup.differentiable"
func.func @none(%x: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4] requires_grad=false>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.tanh %y : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
  return %0, %2 : !torch.vtensor, !torch.vtensor
}

// Nothing was seen of floats, or now this, now that: not decided.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: needs_gradient =
// GROUPS-LABEL: func.func @unknown
// GROUPS: "tierup.differentiable"
func.func @unknown(%x: !torch.vtensor, %i: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%i) {slot = 0 : i64, profiled = #tierup.profiled<i64[4] requires_grad=false>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
  return %0, %2 : !torch.vtensor, !torch.vtensor
}
func.func @mixed(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
