// RUN: tierup-opt %s --split-input-file --tierup-verify-native --verify-diagnostics

func.func @sort(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-error@below {{'torch.aten.linalg_det' op has no native code}}
  %1 = torch.aten.linalg_det %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func private @again(%n: !torch.int) -> !torch.int {
  // expected-error@below {{'func.call' op the program is recursive}}
  %0 = func.call @again(%n) : (!torch.int) -> !torch.int
  return %0 : !torch.int
}
