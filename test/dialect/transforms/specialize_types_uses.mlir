// TorchScript's removal of profile nodes: what all uses that ran saw of a value becomes its type, whatever use it was seen at.
// RUN: tierup-opt %s --split-input-file --tierup-verify-profiled --tierup-specialize-types=mid-program | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-specialize-types=mid-program --tierup-specialize-types=mid-program | FileCheck %s

// A use that never ran says nothing; uses that saw different sizes, as unrolled ones may, say what they agree on.
// CHECK-LABEL: func.func @uses
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[4],f32>
// CHECK: %[[E:.*]] = torch.aten.exp %[[X]] : !torch.vtensor<[4],f32> -> !torch.vtensor
// CHECK-NEXT: %[[A:.*]] = torch.tensor_static_info_cast %[[E]] : !torch.vtensor to !torch.vtensor<[?],f32>
// CHECK-NEXT: %[[B:.*]] = torch.tensor_static_info_cast %[[E]] : !torch.vtensor to !torch.vtensor<[?],f32>
// CHECK-NEXT: torch.aten.mul.Tensor %[[A]], %[[B]]
// CHECK: torch.prim.If
// CHECK-NEXT: %[[C:.*]] = torch.tensor_static_info_cast %[[E]] : !torch.vtensor to !torch.vtensor<[?],f32>
// CHECK-NEXT: torch.aten.tanh %[[C]]
// CHECK-NOT: tierup.
func.func @uses(%x: !torch.vtensor, %c: !torch.bool) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.exp %0 : !torch.vtensor -> !torch.vtensor
  %2 = "tierup.profile"(%1) {slot = 1 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor
  %3 = "tierup.profile"(%1) {slot = 2 : i64, profiled = #tierup.profiled<f32[5]>} : (!torch.vtensor) -> !torch.vtensor
  %4 = torch.aten.mul.Tensor %2, %3 : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %5 = torch.prim.If %c -> (!torch.vtensor) {
    %6 = "tierup.profile"(%1) {slot = 3 : i64} : (!torch.vtensor) -> !torch.vtensor
    %7 = torch.aten.tanh %6 : !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %7 : !torch.vtensor
  } else {
    torch.prim.If.yield %4 : !torch.vtensor
  }
  "tierup.count_run"() : () -> ()
  return %4, %5 : !torch.vtensor, !torch.vtensor
}
