// RUN: tierup-opt %s --tierup-insert-profiling --verify-diagnostics

// expected-error@below {{ends with cf.br: only a function that returns at its end counts its runs}}
func.func @blocks(%x: !torch.vtensor) -> !torch.vtensor {
  cf.br ^end
^end:
  return %x : !torch.vtensor
}
