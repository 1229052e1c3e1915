// RUN: tierup-opt %s --tierup-propagate-symbolic-shapes=generalize --verify-diagnostics

// Every size but 0 and 1 may change; what the program then needs equal.
// expected-remark@below {{needs the sizes s0_1 and s1_0 to be equal}}
func.func @f(%x: !torch.vtensor<[4,4],f32>, %y: !torch.vtensor<[4,1],f32>, %z: !torch.vtensor<[0],f32>, %u: !torch.vtensor, %n: !torch.int) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.int) {
  // expected-remark@below {{gives f32[s0_0,1]}}
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,1],f32> -> !torch.vtensor
  // expected-remark@below {{gives f32[0]}}
  %1 = torch.aten.tanh %z : !torch.vtensor<[0],f32> -> !torch.vtensor
  // a tensor of any rank and a number have no sizes to stand for others
  // expected-remark@below {{gives ?[*]}}
  %2 = torch.aten.tanh %u : !torch.vtensor -> !torch.vtensor
  return %0, %1, %2, %n : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.int
}
