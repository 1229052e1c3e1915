// RUN: tierup-opt %s --tierup-unroll-loops="factor=1" --verify-diagnostics

// expected-error @+1 {{cannot be unrolled by a factor of 1: it is at least 2}}
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}
