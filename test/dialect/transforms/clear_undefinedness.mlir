// RUN: tierup-opt %s --tierup-clear-undefinedness | FileCheck %s
// RUN: tierup-opt %s --tierup-clear-undefinedness --tierup-clear-undefinedness | FileCheck %s

// CHECK-LABEL: func.func @records
// CHECK: {profiled = #tierup.profiled<?[*]>, slot = 0 : i64}
// CHECK: {profiled = #tierup.profiled<f32[4,s0] strides=[?,1] device=cpu requires_grad=false>, slot = 1 : i64}
// CHECK: torch.prim.If
// CHECK: {profiled = #tierup.profiled<?[*]>, slot = 2 : i64}
// CHECK: {profiled = #tierup.profiled<int=3>, slot = 3 : i64}
// CHECK: {slot = 4 : i64}
func.func @records(%g: !torch.vtensor, %x: !torch.vtensor, %n: !torch.int, %c: !torch.bool) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%x) {slot = 1 : i64, profiled = #tierup.profiled<f32[4,s0] strides=[?,1] device=cpu requires_grad=false defined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = torch.prim.If %c -> (!torch.vtensor) {
    %3 = "tierup.profile"(%0) {slot = 2 : i64, profiled = #tierup.profiled<?[*] defined>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  } else {
    torch.prim.If.yield %1 : !torch.vtensor
  }
  %4 = "tierup.profile"(%n) {slot = 3 : i64, profiled = #tierup.profiled<int=3>} : (!torch.int) -> !torch.int
  %5 = "tierup.profile"(%2) {slot = 4 : i64} : (!torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %5 : !torch.vtensor
}

// What a check tests it goes on testing.
// CHECK-LABEL: func.func @tested
// CHECK: "tierup.check"(%arg0) {expected = [#tierup.profiled<f32[4] defined>]}
func.func @tested(%x: !torch.vtensor) -> !torch.bool {
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4] defined>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  return %0#1 : !torch.bool
}
