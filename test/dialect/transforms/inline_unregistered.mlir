// RUN: tierup-opt %s --tierup-inline --allow-unregistered-dialect --verify-diagnostics
// RUN: tierup-opt %s --inline --allow-unregistered-dialect --verify-diagnostics
// RUN: tierup-opt %s --tierup-pipeline=profile --allow-unregistered-dialect --verify-diagnostics
// MLIR's own inliner crashes on such an op; whoever asks for it, it is refused before.

func.func private @h(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'foo.bar' op is of no registered dialect and has a body}}
  %0 = "foo.bar"(%x) ({
  ^bb0(%a: !torch.vtensor):
    "foo.yield"(%a) : (!torch.vtensor) -> ()
  }) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = call @h(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
