// RUN: tierup-opt %s --tierup-verify-profiled --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-verify-profiled --tierup-verify-profiled --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @profiles_and_counts
func.func @profiles_and_counts(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  // CHECK: "tierup.profile"(%arg0) {slot = 0 : i64}
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%n) {slot = 1 : i64} : (!torch.int) -> !torch.int
  %2 = torch.aten.add.Scalar %0, %1, %1 : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  // CHECK: "tierup.count_run"() : () -> ()
  // CHECK-NEXT: return
  "tierup.count_run"() : () -> ()
  return %2 : !torch.vtensor
}

// CHECK-LABEL: func.func @a_graph_is_profiled_nowhere
func.func @a_graph_is_profiled_nowhere(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
func.func @slot_twice(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-note@below {{and here first}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // expected-error@below {{breaks the contract 'profiled': slot 0 is recorded twice}}
  %1 = "tierup.profile"(%0) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %1 : !torch.vtensor
}

// -----
// expected-error@below {{the function profiles, but counts no run: tierup.count_run is missing}}
func.func @counts_nothing(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @counts_too_early(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{a run is counted once, right before the function returns}}
  "tierup.count_run"() : () -> ()
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @guards(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'tierup.guard' op breaks the contract 'profiled': speculation has no place here}}
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
