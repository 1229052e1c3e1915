// RUN: tierup-opt %s --tierup-propagate-input-shapes --verify-diagnostics

func.func @a_wrong_type(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,4],f32> {
  // expected-error@below {{has a value of type !torch.vtensor<[2,3],f32> where its type says !torch.vtensor<[2,4],f32>}}
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor<[2,4],f32>
}
