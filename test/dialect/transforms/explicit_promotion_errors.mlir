// RUN: tierup-opt %s --tierup-explicit-promotion --split-input-file --verify-diagnostics

func.func @shapes_that_do_not_fit(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  // expected-error@below {{cannot run on operands of these types}}
  %0 = torch.aten.mul.Tensor %x, %y {tierup.promotion = "numpy"} : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}
