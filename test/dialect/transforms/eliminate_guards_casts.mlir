// RUN: tierup-opt %s --tierup-eliminate-guards | FileCheck %s
// RUN: tierup-opt %s --tierup-eliminate-guards --tierup-eliminate-guards | FileCheck %s

// The second guard goes; what the types before it knew besides stays known.
// CHECK-LABEL: func.func @sizes_from_a_cast
// CHECK: %[[G:.*]] = "tierup.guard"(%arg0)
// CHECK-NOT: tierup.guard
// CHECK: %[[C:.*]] = torch.tensor_static_info_cast %[[G]] : !torch.vtensor<*,f32> to !torch.vtensor<[4],f32>
// CHECK-NEXT: torch.aten.exp %[[C]]
func.func @sizes_from_a_cast(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[*] defined>} : (!torch.vtensor) -> !torch.vtensor<*,f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<*,f32> -> !torch.vtensor
  %y = torch.tensor_static_info_cast %x : !torch.vtensor to !torch.vtensor<[4],unk>
  %2 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[*] defined>} : (!torch.vtensor<[4],unk>) -> !torch.vtensor<[4],f32>
  %3 = torch.aten.exp %2 : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %1, %3 : !torch.vtensor, !torch.vtensor
}
