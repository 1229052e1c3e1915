// RUN: tierup-opt %s --tierup-clear-profiling --tierup-verify-guarded | FileCheck %s
// RUN: tierup-opt %s --tierup-clear-profiling --tierup-clear-profiling | FileCheck %s

// CHECK-LABEL: func.func @recorded(
// CHECK-SAME: %arg0: !torch.vtensor {tierup.name = "x"}, %arg1: !torch.int) -> !torch.vtensor {
// CHECK-NEXT: [[P:%.+]] = "tierup.profile"(%arg0) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
// CHECK-NEXT: [[Q:%.+]] = "tierup.profile"(%arg1) {slot = 1 : i64} : (!torch.int) -> !torch.int
// CHECK-NEXT: torch.constant.bool true
// CHECK-NEXT: [[R:%.+]] = torch.prim.Loop [[Q]], {{.*}}, init([[P]])
// CHECK-NEXT: ^bb0({{.*}}: !torch.int, [[A:%.+]]: !torch.vtensor):
// CHECK-NEXT: torch.aten.tanh [[A]] : !torch.vtensor -> !torch.vtensor
// CHECK: "tierup.count_run"() : () -> ()
// CHECK-NEXT: return [[R]] : !torch.vtensor
func.func @recorded(%x: !torch.vtensor<[?,4],f32> {tierup.name = "x", tierup.requires_grad = true}, %n: !torch.int) -> !torch.vtensor<[?,4],f32> {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[s0,4] requires_grad=true>} : (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32>
  %1 = "tierup.profile"(%n) {slot = 1 : i64, profiled = #tierup.profiled<int=3>} : (!torch.int) -> !torch.int
  %true = torch.constant.bool true
  %2 = torch.prim.Loop %1, %true, init(%0) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[?,4],f32>):
    %3 = torch.aten.tanh %a : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
    torch.prim.Loop.condition %true, iter(%3 : !torch.vtensor<[?,4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32>
  "tierup.count_run"() {runs = 2 : i64} : () -> ()
  return %2 : !torch.vtensor<[?,4],f32>
}

// A literal's type is its value's; a cast stands where it meets what is plain. Lists of tensors and written tensors forget too.
// CHECK-LABEL: func.func @literal(
// CHECK-SAME: %arg0: !torch.list<vtensor>, %arg1: !torch.tensor, %arg2: !torch.bool) -> (!torch.vtensor, !torch.tensor)
// CHECK: [[L:%.+]] = torch.vtensor.literal(dense<1.0{{.*}}> : tensor<2xf32>) : !torch.vtensor<[2],f32>
// CHECK: [[I:%.+]] = torch.prim.If %arg2 -> (!torch.vtensor) {
// CHECK-NEXT: [[C:%.+]] = torch.tensor_static_info_cast [[L]] : !torch.vtensor<[2],f32> to !torch.vtensor
// CHECK-NEXT: torch.prim.If.yield [[C]]
// CHECK: torch.aten.cat %arg0, {{.*}} : !torch.list<vtensor>, !torch.int -> !torch.vtensor
func.func @literal(%l: !torch.list<vtensor<[2],f32>>, %m: !torch.tensor<[2],f32>, %c: !torch.bool) -> (!torch.vtensor<[2],f32>, !torch.tensor<[2],f32>) {
  %zero = torch.constant.int 0
  %0 = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %1 = torch.prim.If %c -> (!torch.vtensor<[2],f32>) {
    torch.prim.If.yield %0 : !torch.vtensor<[2],f32>
  } else {
    %2 = torch.aten.cat %l, %zero : !torch.list<vtensor<[2],f32>>, !torch.int -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %2 : !torch.vtensor<[2],f32>
  }
  %3 = torch.aten.tanh_ %m : !torch.tensor<[2],f32> -> !torch.tensor<[2],f32>
  return %1, %3 : !torch.vtensor<[2],f32>, !torch.tensor<[2],f32>
}

// What checks and groups say goes too, unlike with tierup-clear-specializations.
// CHECK-LABEL: func.func @checked
// CHECK: "tierup.check"(%arg0) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor, !torch.bool)
// CHECK: ^bb0([[A:%.+]]: !torch.vtensor):
// CHECK-NEXT: torch.aten.tanh [[A]] : !torch.vtensor -> !torch.vtensor
// CHECK: }) : (!torch.vtensor) -> !torch.vtensor
func.func @checked(%x: !torch.vtensor) -> !torch.vtensor {
  %0:2 = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : (!torch.vtensor) -> (!torch.vtensor<[4],f32>, !torch.bool)
  %1 = torch.prim.If %0#1 -> (!torch.vtensor) {
    %2 = "tierup.fusion_group"(%0#0) ({
    ^bb0(%a: !torch.vtensor<[4],f32>):
      %3 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      "tierup.yield"(%3) : (!torch.vtensor<[4],f32>) -> ()
    }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
    %4 = torch.tensor_static_info_cast %2 : !torch.vtensor<[4],f32> to !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  } else {
    torch.prim.If.yield %x : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// Nothing is known: nothing changes.
// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: [[T:%.+]] = call @literal_free(%arg0) : (!torch.vtensor) -> !torch.vtensor
// CHECK-NEXT: return [[T]]
func.func @plain(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @literal_free(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}
func.func private @literal_free(%x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// A literal keeps its type, and so does a profile of it.
// CHECK-LABEL: func.func @profiled_literal
// CHECK: %[[L:.*]] = torch.vtensor.literal
// CHECK: "tierup.profile"(%[[L]]) {slot = 0 : i64} : (!torch.vtensor<[2],si64>) -> !torch.vtensor<[2],si64>
// CHECK: return
func.func @profiled_literal(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[2],f32> {
  %zero = torch.constant.int 0
  %0 = torch.vtensor.literal(dense<0> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = "tierup.profile"(%0) {slot = 0 : i64} : (!torch.vtensor<[2],si64>) -> !torch.vtensor<[2],si64>
  %2 = torch.aten.index_select %x, %zero, %1 : !torch.vtensor<[3],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2],f32>
  "tierup.count_run"() : () -> ()
  return %2 : !torch.vtensor<[2],f32>
}

// -----
// A literal that is returned is cast before the run is counted: nothing stands between that and the return.
// CHECK-LABEL: func.func @returned_literal
// CHECK: torch.tensor_static_info_cast
// CHECK-NEXT: "tierup.count_run"
// CHECK-NEXT: return
func.func @returned_literal(%x: !torch.vtensor) -> !torch.vtensor<[2],si64> {
  %0 = torch.vtensor.literal(dense<0> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %0 : !torch.vtensor<[2],si64>
}

// -----
// A literal keeps its type: what is copied from it, or overwritten with it, does not, and casts stand between.
// CHECK-LABEL: func.func @copied_literals
// CHECK: %[[L:.*]] = torch.vtensor.literal
// CHECK: %[[PLAIN:.*]] = torch.tensor_static_info_cast %[[L]] : !torch.vtensor<[2],f64> to !torch.vtensor
// CHECK: %[[C:.*]] = torch.copy.to_tensor %[[PLAIN]] : !torch.tensor
// CHECK: torch.aten.fill_.Scalar %[[C]]
// CHECK: %[[V:.*]] = torch.tensor_static_info_cast %{{.*}} : !torch.vtensor<[2],f64> to !torch.vtensor
// CHECK: torch.overwrite.tensor.contents %[[V]] overwrites %[[C]] : !torch.vtensor, !torch.tensor
func.func @copied_literals(%m: !torch.int) -> !torch.tensor<[2],f64> {
  %lit = torch.vtensor.literal(dense<[1.0, 2.0]> : tensor<2xf64>) : !torch.vtensor<[2],f64>
  %c = torch.copy.to_tensor %lit : !torch.tensor<[2],f64>
  %w = torch.aten.fill_.Scalar %c, %m : !torch.tensor<[2],f64>, !torch.int -> !torch.tensor<[2],f64>
  %v = torch.vtensor.literal(dense<[3.0, 2.0]> : tensor<2xf64>) : !torch.vtensor<[2],f64>
  torch.overwrite.tensor.contents %v overwrites %c : !torch.vtensor<[2],f64>, !torch.tensor<[2],f64>
  return %c : !torch.tensor<[2],f64>
}
