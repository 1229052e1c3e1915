// RUN: tierup-opt %s --tierup-update-requires-grad | FileCheck %s --check-prefixes=CHECK,FALSE
// RUN: tierup-opt %s --tierup-update-requires-grad --tierup-update-requires-grad | FileCheck %s --check-prefixes=CHECK,FALSE
// RUN: tierup-opt %s --tierup-update-requires-grad="to=unknown" | FileCheck %s --check-prefixes=CHECK,UNKNOWN
// RUN: tierup-opt %s --tierup-update-requires-grad="to=true everywhere=true" | FileCheck %s --check-prefix=ALL
// RUN: tierup-opt %s --tierup-update-requires-grad="to=false everywhere=true" | FileCheck %s --check-prefix=NONE
// RUN: not tierup-opt %s --tierup-update-requires-grad="to=maybe" 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: option 'to' of pass 'tierup-update-requires-grad' is one of true, false, unknown, not maybe

// CHECK-LABEL: func.func @records
// CHECK-SAME: %arg0: !torch.vtensor {tierup.name = "x", tierup.requires_grad = false}
// CHECK: {profiled = #tierup.profiled<f32[4] requires_grad=true>, slot = 0 : i64}
// FALSE: {profiled = #tierup.profiled<f32[4] requires_grad=false>, slot = 1 : i64}
// FALSE: {profiled = #tierup.profiled<?[*] requires_grad=false>, slot = 2 : i64}
// UNKNOWN: {profiled = #tierup.profiled<f32[4]>, slot = 1 : i64}
// UNKNOWN: {profiled = #tierup.profiled<?[*]>, slot = 2 : i64}
// CHECK: {profiled = #tierup.profiled<?[*] undefined>, slot = 3 : i64}
// CHECK: {slot = 4 : i64}
// NONE-LABEL: func.func @records
// NONE-SAME: %arg0: !torch.vtensor {tierup.name = "x", tierup.requires_grad = false}, %arg1: !torch.int)
// NONE: {profiled = #tierup.profiled<f32[4] requires_grad=false>, slot = 0 : i64}
// NONE: {profiled = #tierup.profiled<f32[4] requires_grad=false>, slot = 1 : i64}
// ALL-LABEL: func.func @records
// ALL-SAME: %arg0: !torch.vtensor {tierup.name = "x", tierup.requires_grad = true}, %arg1: !torch.int)
// ALL: {profiled = #tierup.profiled<f32[4] requires_grad=true>, slot = 0 : i64}
// ALL: {profiled = #tierup.profiled<f32[4] requires_grad=true>, slot = 1 : i64}
// ALL: {profiled = #tierup.profiled<?[*] requires_grad=true>, slot = 2 : i64}
// ALL: {profiled = #tierup.profiled<?[*] undefined>, slot = 3 : i64}
func.func @records(%x: !torch.vtensor {tierup.name = "x", tierup.requires_grad = false}, %n: !torch.int) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.differentiable"(%0, %n) ({
  ^bb0(%a: !torch.vtensor, %m: !torch.int):
    %2 = "tierup.profile"(%a) {slot = 1 : i64, profiled = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor) -> !torch.vtensor
    %true = torch.constant.bool true
    %3 = torch.prim.Loop %m, %true, init(%2) {
    ^bb0(%i: !torch.int, %b: !torch.vtensor):
      %4 = "tierup.profile"(%b) {slot = 2 : i64, profiled = #tierup.profiled<?[*]>} : (!torch.vtensor) -> !torch.vtensor
      torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor)
    } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
    %5 = "tierup.profile"(%3) {slot = 3 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
    %6 = "tierup.profile"(%5) {slot = 4 : i64} : (!torch.vtensor) -> !torch.vtensor
    "tierup.yield"(%6) : (!torch.vtensor) -> ()
  }, {
    "tierup.yield"() : () -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64>, captured_inputs = array<i64>, captured_outputs = array<i64>, gradient_inputs = array<i64>} : (!torch.vtensor, !torch.int) -> !torch.vtensor
  return %1 : !torch.vtensor
}
