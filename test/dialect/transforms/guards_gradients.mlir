// Whether gradients were wanted goes from records through guards and bailouts: where they never were, nothing is grouped for them.
// RUN: tierup-opt %s --tierup-insert-guards="gradients=true" --tierup-eliminate-guards | FileCheck %s --check-prefix=GUARDS
// RUN: tierup-opt %s --tierup-pipeline=pre-autodiff-1.7 --tierup-create-differentiable-subgraphs | FileCheck %s --check-prefix=GROUPS

// GUARDS-LABEL: func.func @none_wanted
// GUARDS: "tierup.guard"(%{{.*}}) {expected = #tierup.profiled<f32[4,8] requires_grad=false>}
// GUARDS-NOT: tierup.guard
// GROUPS-LABEL: func.func @none_wanted
// GROUPS-NOT: tierup.differentiable
// GROUPS-LABEL: func.func @wanted
// GROUPS: tierup.bailout
// GROUPS-COUNT-1: tierup.differentiable
// GROUPS-NOT: tierup.differentiable
// GUARDS-LABEL: func.func @wanted
func.func @none_wanted(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4,8] requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2 = "tierup.profile"(%1) {slot = 1 : i64, profiled = #tierup.profiled<f32[4,8] requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor
  %3 = torch.aten.sigmoid %2 : !torch.vtensor -> !torch.vtensor
  %4 = torch.aten.exp %3 : !torch.vtensor -> !torch.vtensor
  "tierup.count_run"() {runs = 1 : i64} : () -> ()
  return %4 : !torch.vtensor
}

func.func @wanted(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4,8] requires_grad=true defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.sigmoid %1 : !torch.vtensor -> !torch.vtensor
  "tierup.count_run"() {runs = 1 : i64} : () -> ()
  return %3 : !torch.vtensor
}
