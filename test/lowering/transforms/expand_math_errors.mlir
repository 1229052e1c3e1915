// RUN: tierup-opt %s --pass-pipeline="builtin.module(func.func(tierup-expand-math{functions=gamma}))" --verify-diagnostics
// A function without expansion is an error at the function.

// expected-error @+1 {{no expansion for gamma; there are acos}}
func.func @f(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
