// RUN: tierup-opt %s --tierup-insert-symbolic-checks --tierup-verify-guarded | FileCheck %s

// An op that raises on its operands is none of a group's, and raises as before.
// CHECK-LABEL: func.func @program_that_cannot_run
// CHECK-NEXT: torch.aten.mul.Tensor %arg0, %arg1
// CHECK-NEXT: return
func.func @program_that_cannot_run(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}
