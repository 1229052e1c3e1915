// RUN: tierup-opt %s --tierup-peel-loops="count=0" --verify-diagnostics

// expected-error @+1 {{cannot be peeled of 0 rounds: it is at least 1}}
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
