// RUN: tierup-opt %s | tierup-opt | FileCheck %s
// Every op of dialect/language/definitions/regions.py, printed and read again.

// CHECK-LABEL: func.func @fusion_group
func.func @fusion_group(%x: !torch.vtensor<[4],f32>, %n: !torch.int) -> (!torch.vtensor<[4],f32>, !torch.int) {
  // CHECK: %[[R:.*]]:2 = "tierup.fusion_group"(%{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[X:.*]]: !torch.vtensor<[4],f32>, %[[N:.*]]: !torch.int):
  // CHECK-NEXT: %[[T:.*]] = torch.aten.tanh %[[X]]
  // CHECK-NEXT: "tierup.yield"(%[[T]], %[[N]]) : (!torch.vtensor<[4],f32>, !torch.int) -> ()
  // CHECK-NEXT: }, {
  // CHECK-NEXT: }) : (!torch.vtensor<[4],f32>, !torch.int) -> (!torch.vtensor<[4],f32>, !torch.int)
  %0:2 = "tierup.fusion_group"(%x, %n) ({
  ^bb0(%a: !torch.vtensor<[4],f32>, %b: !torch.int):
    %1 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    "tierup.yield"(%1, %b) : (!torch.vtensor<[4],f32>, !torch.int) -> ()
  }, {}) : (!torch.vtensor<[4],f32>, !torch.int) -> (!torch.vtensor<[4],f32>, !torch.int)
  return %0#0, %0#1 : !torch.vtensor<[4],f32>, !torch.int
}

// CHECK-LABEL: func.func @fallback_under_a_check
func.func @fallback_under_a_check(%x: !torch.vtensor) -> !torch.vtensor {
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  // CHECK: torch.prim.If
  %1 = torch.prim.If %0#1 -> (!torch.vtensor) {
    // CHECK: "tierup.fusion_group"
    %2 = "tierup.fusion_group"(%0#0) ({
    ^bb0(%a: !torch.vtensor<[4],f32>):
      %3 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      "tierup.yield"(%3) : (!torch.vtensor<[4],f32>) -> ()
    }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
    %4 = torch.tensor_static_info_cast %2 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  } else {
    // CHECK: "tierup.fallback"
    %2 = "tierup.fallback"(%x) ({
    ^bb0(%a: !torch.vtensor):
      %3 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      "tierup.yield"(%3) : (!torch.vtensor) -> ()
    }, {}) : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// CHECK-LABEL: func.func @differentiable
func.func @differentiable(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  // CHECK: "tierup.differentiable"(%{{.*}}, %{{.*}}) ({
  // CHECK: captured_inputs = array<i64: 1>, captured_outputs = array<i64>, gradient_inputs = array<i64: 0>, real_outputs = 1 : i64, vjp_outputs = array<i64: 0>
  %0 = "tierup.differentiable"(%x, %y) ({
  ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
    %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {
  ^bb0(%g: !torch.vtensor, %b: !torch.vtensor):
    %1 = torch.aten.mul.Tensor %g, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }) {real_outputs = 1 : i64, vjp_outputs = array<i64: 0>, captured_inputs = array<i64: 1>, captured_outputs = array<i64>, gradient_inputs = array<i64: 0>}
    : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// CHECK-LABEL: func.func @grad_of_reads_from_outside
func.func @grad_of_reads_from_outside(%g: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
  // CHECK: "tierup.grad_of"(%{{.*}}) ({
  %0 = "tierup.grad_of"(%g) ({
    %1 = torch.aten.mul.Tensor %g, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
    "tierup.yield"(%1) : (!torch.vtensor) -> ()
  }, {}) {op = "aten.mul.Tensor"} : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
