// RUN: tierup-opt %s --split-input-file --tierup-verify-promotion --verify-diagnostics

func.func @numpy(%x: !torch.vtensor<[4],si32>) -> !torch.vtensor {
  // expected-error@below {{'torch.aten.exp' op follows NumPy's rules here, which no torch op gives}}
  %0 = torch.aten.exp %x {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @torch(%x: !torch.vtensor<[4],si32>) -> !torch.vtensor {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],si32> -> !torch.vtensor
  return %0 : !torch.vtensor
}
