// A guard that nothing can pass: what follows it never runs, and may be typed as the guard says. Peeled loops have such guards.
// RUN: tierup-opt %s --tierup-verify-guarded | FileCheck %s

// CHECK-LABEL: @never_passed
// CHECK: torch.aten.neg {{.*}} -> !torch.vtensor<[2],si64>
func.func @never_passed(%x: !torch.vtensor<[2],f64>) -> !torch.vtensor<[2],si64> {
  %0 = torch.tensor_static_info_cast %x : !torch.vtensor<[2],f64> to !torch.vtensor
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<i64[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],si64>
  %2 = torch.aten.neg %1 : !torch.vtensor<[2],si64> -> !torch.vtensor<[2],si64>
  return %2 : !torch.vtensor<[2],si64>
}
