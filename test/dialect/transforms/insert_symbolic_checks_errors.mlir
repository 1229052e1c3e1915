// RUN: tierup-opt %s --tierup-insert-symbolic-checks --verify-diagnostics

func.func @program_that_cannot_run(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  // expected-error@below {{cannot run on operands of these types}}
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}
