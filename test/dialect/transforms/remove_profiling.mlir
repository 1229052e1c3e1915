// RUN: tierup-opt %s --tierup-remove-profiling --tierup-verify-graph | FileCheck %s
// RUN: tierup-opt %s --tierup-remove-profiling --tierup-remove-profiling | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-NOT: tierup
// CHECK: torch.prim.If %arg1
// CHECK-NEXT: torch.prim.If.yield %arg0
// CHECK: [[Y:%.+]] = torch.aten.tanh %arg0
// CHECK-NEXT: torch.prim.If.yield [[Y]]
// CHECK-NOT: tierup
// CHECK: return
func.func @f(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%0) {slot = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
  %2 = torch.prim.If %c -> (!torch.vtensor) {
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %3 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
    %4 = "tierup.profile"(%3) {slot = 2 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  }
  "tierup.count_run"() {runs = 3 : i64} : () -> ()
  return %2 : !torch.vtensor
}

// CHECK-LABEL: func.func @a_graph_stays
// CHECK-NEXT: return %arg0
func.func @a_graph_stays(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
