// RUN: tierup-opt %s --tierup-clear-specializations --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --tierup-clear-specializations --tierup-clear-specializations | FileCheck %s

// CHECK-LABEL: func.func @outside_groups(
// CHECK-SAME: %arg0: !torch.vtensor, %arg1: !torch.list<vtensor>) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor) {
// CHECK-NOT: torch.symbolic_int
// CHECK: [[L:%.+]] = torch.vtensor.literal({{.*}}) : !torch.vtensor<[2],f32>
// CHECK: [[Y:%.+]] = torch.aten.tanh %arg0 : !torch.vtensor -> !torch.vtensor
// CHECK: torch.prim.If
// CHECK: torch.prim.If.yield [[Y]] : !torch.vtensor
// CHECK: [[Z:%.+]] = torch.tensor_static_info_cast [[L]] : !torch.vtensor<[2],f32> to !torch.vtensor
// CHECK: torch.prim.If.yield [[Z]] : !torch.vtensor
// CHECK: "tierup.check"({{%.+}}) {{.*}} -> (!torch.vtensor<[2],f32>, !torch.bool)
// CHECK: [[G:%.+]] = "tierup.fusion_group"
// CHECK: torch.aten.exp {{.*}} : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
// CHECK: torch.tensor_static_info_cast [[G]] : !torch.vtensor<[2],f32> to !torch.vtensor
func.func @outside_groups(%x: !torch.vtensor<[?],f32>, %l: !torch.list<vtensor<[2],f32>>) -> (!torch.vtensor<[?],f32>, !torch.vtensor, !torch.vtensor<[2],f32>) {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %true = torch.constant.bool true
  %lit = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %y = torch.aten.tanh %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %n = torch.aten.size %y : !torch.vtensor<[?],f32> -> !torch.list<int>
  %some = torch.aten.Bool.Tensor %y : !torch.vtensor<[?],f32> -> !torch.bool
  %0 = torch.prim.If %some -> (!torch.vtensor) {
    %c = torch.tensor_static_info_cast %y : !torch.vtensor<[?],f32> to !torch.vtensor
    torch.prim.If.yield %c : !torch.vtensor
  } else {
    %c = torch.tensor_static_info_cast %lit : !torch.vtensor<[2],f32> to !torch.vtensor
    torch.prim.If.yield %c : !torch.vtensor
  }
  %v:2 = "tierup.check"(%0) {expected = [#tierup.profiled<f32[2]>]} : (!torch.vtensor) -> (!torch.vtensor<[2],f32>, !torch.bool)
  %1 = torch.prim.If %v#1 -> (!torch.vtensor) {
    %g = "tierup.fusion_group"(%v#0) ({
    ^bb0(%a: !torch.vtensor<[2],f32>):
      %e = torch.aten.exp %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
      "tierup.yield"(%e) : (!torch.vtensor<[2],f32>) -> ()
    }, {}) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
    %c = torch.tensor_static_info_cast %g : !torch.vtensor<[2],f32> to !torch.vtensor
    torch.prim.If.yield %c : !torch.vtensor
  } else {
    torch.prim.If.yield %0 : !torch.vtensor
  }
  return %y, %1, %lit : !torch.vtensor<[?],f32>, !torch.vtensor, !torch.vtensor<[2],f32>
}

// A call and what it calls are cleared together.
// CHECK-LABEL: func.func @calls(
// CHECK: call @callee(%arg0) : (!torch.vtensor) -> !torch.vtensor
func.func @calls(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = call @callee(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// CHECK: func.func private @callee(%arg0: !torch.vtensor) -> !torch.vtensor
func.func private @callee(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  return %x : !torch.vtensor<[4],f32>
}

// CHECK-LABEL: func.func @scalars(%arg0: !torch.int) -> !torch.int
func.func @scalars(%n: !torch.int) -> !torch.int {
  return %n : !torch.int
}

// What a group gives keeps its type, and is a plain tensor to the function that is called with it.
// CHECK-LABEL: func.func @calls_with_a_groups_result(
// CHECK: [[G:%.+]] = "tierup.fusion_group"
// CHECK: [[P:%.+]] = torch.tensor_static_info_cast [[G]] : !torch.vtensor<[4],f32> to !torch.vtensor
// CHECK: call @callee([[P]]) : (!torch.vtensor) -> !torch.vtensor
func.func @calls_with_a_groups_result() -> !torch.vtensor<[4],f32> {
  %x = torch.vtensor.literal(dense<1.0> : tensor<4xf32>) : !torch.vtensor<[4],f32>
  %g = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !torch.vtensor<[4],f32>):
    %e = torch.aten.exp %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    "tierup.yield"(%e) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %0 = call @callee(%g) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// What a guard lets through has the type of its facts; what its operand's type said besides is forgotten with that.
// CHECK-LABEL: func.func @of_a_guard(
// CHECK: "tierup.guard"(%arg0) {{.*}} : (!torch.vtensor) -> !torch.vtensor<*,f32>
func.func @of_a_guard(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[*]>} : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}
