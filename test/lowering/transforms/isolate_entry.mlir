// RUN: tierup-opt %s --split-input-file --tierup-isolate-entry --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-isolate-entry --tierup-isolate-entry --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @entry
// CHECK: "tierup.bailout"(%arg0) {expected = #tierup.profiled<f32[4]>, index = 0 : i64}
// CHECK: func.func private @entry_continuation_0
// CHECK: func.func private @helper
func.func @entry(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.entry} {
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>, continuation = @entry_continuation_0} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  return %x : !torch.vtensor
}
func.func private @entry_continuation_0(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
func.func @helper(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// Where nothing is marked, nothing is known to be the entry.
// CHECK-LABEL: func.func @unmarked
func.func @unmarked() {
  return
}

// -----
func.func @caller(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.entry} {
  %0 = func.call @callee(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @callee(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'tierup.bailout' op leaves @callee, which another function calls}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  return %x : !torch.vtensor
}
