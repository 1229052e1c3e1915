// RUN: tierup-opt %s --split-input-file --tierup-lower-grad-of --tierup-verify-graph --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-grad-of --tierup-lower-grad-of --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @two_results
// CHECK-NEXT: [[A:%.+]] = "tierup.any_nonzero"(%arg0, %arg1) : (!torch.vtensor, !torch.vtensor) -> !torch.bool
// CHECK-NEXT: [[R:%.+]]:2 = torch.prim.If [[A]] -> (!torch.vtensor, !torch.vtensor<[4],f32>) {
// CHECK-NEXT: [[M:%.+]] = torch.aten.mul.Tensor %arg0, %arg2
// CHECK-NEXT: torch.prim.If.yield [[M]], %arg3 : !torch.vtensor, !torch.vtensor<[4],f32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[Z:%.+]] = "tierup.autograd_zero"() : () -> !torch.vtensor
// CHECK-NEXT: [[Y:%.+]] = "tierup.autograd_zero"() : () -> !torch.vtensor<[4],f32>
// CHECK-NEXT: torch.prim.If.yield [[Z]], [[Y]]
// CHECK: return [[R]]#0, [[R]]#1
// CHECK-NOT: grad_of
func.func @two_results(%g: !torch.vtensor, %h: !torch.vtensor, %x: !torch.vtensor, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.vtensor<[4],f32>) {
  %0:2 = "tierup.grad_of"(%g, %h) ({
    %1 = torch.aten.mul.Tensor %g, %x : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1, %y) : (!torch.vtensor, !torch.vtensor<[4],f32>) -> ()
  }, {}) {op = "aten.mul"} : (!torch.vtensor, !torch.vtensor) -> (!torch.vtensor, !torch.vtensor<[4],f32>)
  return %0#0, %0#1 : !torch.vtensor, !torch.vtensor<[4],f32>
}

// -----
// One in a branch, one in another's region.
// CHECK-LABEL: func.func @nested
// CHECK: torch.prim.If %arg0
// CHECK: [[A:%.+]] = "tierup.any_nonzero"(%arg1)
// CHECK-NEXT: [[R:%.+]] = torch.prim.If [[A]]
// CHECK-NEXT: [[N:%.+]] = torch.aten.neg %arg1
// CHECK-NEXT: [[B:%.+]] = "tierup.any_nonzero"([[N]])
// CHECK-NEXT: [[S:%.+]] = torch.prim.If [[B]]
// CHECK: torch.prim.If.yield [[S]]
// CHECK: torch.prim.If.yield [[R]]
// CHECK-NOT: grad_of
func.func @nested(%c: !torch.bool, %g: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = "tierup.grad_of"(%g) ({
      %2 = torch.aten.neg %g : !torch.vtensor -> !torch.vtensor
      %3 = "tierup.grad_of"(%2) ({
        %4 = torch.aten.neg %2 : !torch.vtensor -> !torch.vtensor
        "tierup.yield"(%4) : (!torch.vtensor) -> ()
      }, {}) {op = "aten.neg"} : (!torch.vtensor) -> !torch.vtensor
      "tierup.yield"(%3) : (!torch.vtensor) -> ()
    }, {}) {op = "aten.neg"} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    torch.prim.If.yield %g : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @nothing_to_lower
// CHECK-NEXT: torch.aten.neg
// CHECK-NEXT: return
func.func @nothing_to_lower(%g: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.neg %g : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @number(%g: !torch.vtensor, %n: !torch.int) -> !torch.int {
  // expected-error@below {{gives a !torch.int, which cannot be undefined}}
  %0 = "tierup.grad_of"(%g) ({
    "tierup.yield"(%n) : (!torch.int) -> ()
  }, {}) {op = "aten.mul"} : (!torch.vtensor) -> !torch.int
  return %0 : !torch.int
}
