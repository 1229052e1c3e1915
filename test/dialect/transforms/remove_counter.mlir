// RUN: tierup-opt %s --split-input-file --tierup-verify-profiled --tierup-remove-counter | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-remove-counter --tierup-remove-counter | FileCheck %s

// CHECK-LABEL: func.func @counted
// CHECK-NEXT: %[[P:.*]] = "tierup.profile"(%arg0) {profiled = #tierup.profiled<f32[4]>, slot = 0 : i64}
// CHECK-NEXT: return %[[P]]
func.func @counted(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() {runs = 2 : i64} : () -> ()
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @not_counted
// CHECK-NEXT: return %arg0
func.func @not_counted(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
