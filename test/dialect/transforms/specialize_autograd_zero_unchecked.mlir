// RUN: tierup-opt %s --split-input-file --tierup-specialize-autograd-zero="checks=false" | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-specialize-autograd-zero="checks=false" --tierup-specialize-autograd-zero="checks=false" | FileCheck %s

// Callers ensure that %g is there and %h is not, so the function itself is the version.
// CHECK-LABEL: func.func @backward
// CHECK-NOT: all_nonzero
// CHECK-NOT: torch.prim.If
// CHECK: [[G:%.+]] = "tierup.profile"(%arg0)
// CHECK-NOT: autograd_add
// CHECK: [[M:%.+]] = torch.aten.mul.Tensor [[G]], %arg2
// CHECK-NEXT: "tierup.count_run"
// CHECK-NEXT: return [[M]]
func.func @backward(%g: !torch.vtensor, %h: !torch.vtensor, %k: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%g) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%h) {slot = 1 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.autograd_add"(%0, %1) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  %3 = "tierup.any_nonzero"(%2) : (!torch.vtensor) -> !torch.bool
  %4 = torch.prim.If %3 -> (!torch.vtensor) {
    %5 = torch.aten.mul.Tensor %2, %k : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    torch.prim.If.yield %5 : !torch.vtensor
  } else {
    %5 = "tierup.autograd_zero"() : () -> !torch.vtensor
    torch.prim.If.yield %5 : !torch.vtensor
  }
  "tierup.count_run"() : () -> ()
  return %4 : !torch.vtensor
}

// -----
// Of what nothing is recorded nothing is decided.
// CHECK-LABEL: func.func @unknown
// CHECK: "tierup.autograd_add"(%arg0, %arg1)
func.func @unknown(%g: !torch.vtensor, %h: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.autograd_add"(%g, %h) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
