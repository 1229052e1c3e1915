// RUN: tierup-opt %s --split-input-file --tierup-verify-lowered --verify-diagnostics | FileCheck %s

// What is converted or cleaned up afterwards: literals, assertions, lists, and ops whose results nobody uses.
// CHECK-LABEL: func.func @harmless
// CHECK: torch.aten.tanh
// CHECK: torch.runtime.assert
// CHECK: return
func.func @harmless(%x: !torch.vtensor<[4],f32>, %ok: !torch.bool) -> !torch.vtensor<[2],f32> {
  %int1 = torch.constant.int 1
  %l = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %unused = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  torch.runtime.assert %ok, "index out of range"
  %c = torch.vtensor.literal(dense<[1.0, 2.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  return %c : !torch.vtensor<[2],f32>
}

// -----
func.func @not_lowered(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[?,1],si64> {
  // expected-error@below {{'torch.aten.nonzero' op has no lowering for operands (!torch.vtensor<[4],f32>)}}
  %0 = torch.aten.nonzero %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[?,1],si64>
  return %0 : !torch.vtensor<[?,1],si64>
}

// -----
func.func @numpys_rules(%x: !torch.vtensor<[4],si32>) -> !torch.vtensor<[4],f64> {
  // expected-error@below {{'torch.aten.exp' op follows NumPy's rules here, which no torch op gives, so it has no lowering}}
  %0 = torch.aten.exp %x {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32> -> !torch.vtensor<[4],f64>
  return %0 : !torch.vtensor<[4],f64>
}

// -----
// An op without results is there for what it does.
func.func @effect(%l: !torch.list<int>, %n: !torch.int) {
  // expected-error@below {{'torch.aten.append.t' op has no lowering}}
  %0 = torch.aten.append.t %l, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  return
}

// -----
func.func @written_in_place(%x: !torch.tensor<[4],f32>, %n: !torch.int) {
  // expected-error@below {{'torch.aten.add_.Scalar' op has no lowering}}
  %0 = torch.aten.add_.Scalar %x, %n, %n : !torch.tensor<[4],f32>, !torch.int, !torch.int -> !torch.tensor<[4],f32>
  return
}

// -----
func.func @inside_of_a_branch(%c: i1, %x: !torch.vtensor<[4],f32>) -> tensor<?x1xi64> {
  %r = scf.if %c -> tensor<?x1xi64> {
    // expected-error@below {{'torch.aten.nonzero' op has no lowering}}
    %0 = torch.aten.nonzero %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[?,1],si64>
    %1 = builtin.unrealized_conversion_cast %0 : !torch.vtensor<[?,1],si64> to tensor<?x1xi64>
    scf.yield %1 : tensor<?x1xi64>
  } else {
    %n = arith.constant 0 : index
    %e = tensor.empty(%n) : tensor<?x1xi64>
    scf.yield %e : tensor<?x1xi64>
  }
  return %r : tensor<?x1xi64>
}
