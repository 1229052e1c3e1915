// RUN: tierup-opt %s --tierup-inline --allow-unregistered-dialect --verify-diagnostics

func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'foo.bar' op is of no registered dialect and has a body}}
  %0 = "foo.bar"(%x) ({ ^bb0: "foo.end"() : () -> () }) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
