// A guard that nothing can pass: what follows it never runs, and may be typed as the guard says. Peeled loops have such guards.
// RUN: tierup-opt %s --tierup-verify-guarded | FileCheck %s

// CHECK-LABEL: @never_passed
// CHECK: torch.aten.neg {{.*}} -> !torch.vtensor<[2],si64>
func.func @never_passed(%x: !torch.vtensor<[2],f64>) -> !torch.vtensor<[2],si64> {
  %0 = torch.tensor_static_info_cast %x : !torch.vtensor<[2],f64> to !torch.vtensor
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<i64[2]>} : (!torch.vtensor) -> !torch.vtensor<[2],si64>
  %2 = torch.aten.neg %1 : !torch.vtensor<[2],si64> -> !torch.vtensor<[2],si64>
  return %2 : !torch.vtensor<[2],si64>
}

// An op that raises on all values that the guards let through: nothing comes of it, and its type stays, with sizes that it leaves open. What stands
// behind it never runs.
// CHECK-LABEL: @raises
// CHECK: torch.aten.copy {{.*}} -> !torch.vtensor<[?,3],f64>
func.func @raises(%x: !torch.vtensor<[?,?],f64>, %y: !torch.vtensor<[?,?],f32>) -> !torch.vtensor<[?,?],f64> {
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f64[3,3]>} : (!torch.vtensor<[?,?],f64>) -> !torch.vtensor<[3,3],f64>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor<[?,?],f32>) -> !torch.vtensor<[2,3],f32>
  %2 = torch.aten.copy %0, %1, %false : !torch.vtensor<[3,3],f64>, !torch.vtensor<[2,3],f32>, !torch.bool -> !torch.vtensor<[?,3],f64>
  %3 = torch.aten.neg %2 : !torch.vtensor<[?,3],f64> -> !torch.vtensor<[?,?],f64>
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  torch.prim.Loop %one, %true, init() {
  ^bb0(%i: !torch.int):
    %4 = torch.aten.squeeze.dim %3, %zero : !torch.vtensor<[?,?],f64>, !torch.int -> !torch.vtensor<[?,?],f64>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  return %3 : !torch.vtensor<[?,?],f64>
}

// A round in which an op raises on all such operands never ends: what the loop carries is what came in, and of a choice one arm alone gives the value.
// CHECK-LABEL: @raises_in_a_round
// CHECK: torch.prim.Loop
// CHECK: torch.prim.If {{.*}} -> (!torch.vtensor<[?,3],f64>)
func.func @raises_in_a_round(%x: !torch.vtensor<[?,?],f64>, %y: !torch.vtensor<[?,?],f32>, %c: !torch.bool, %n: !torch.int) -> (!torch.vtensor<[?,?],f64>, !torch.vtensor<[?,3],f64>) {
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %0 = "tierup.guard"(%x) {expected = #tierup.profiled<f64[3,3]>} : (!torch.vtensor<[?,?],f64>) -> !torch.vtensor<[3,3],f64>
  %1 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[2,3]>} : (!torch.vtensor<[?,?],f32>) -> !torch.vtensor<[2,3],f32>
  %start = torch.tensor_static_info_cast %0 : !torch.vtensor<[3,3],f64> to !torch.vtensor<[?,?],f64>
  %2 = torch.prim.Loop %n, %true, init(%start) {
  ^bb0(%i: !torch.int, %carried: !torch.vtensor<[?,?],f64>):
    %3 = torch.aten.copy %0, %1, %false : !torch.vtensor<[3,3],f64>, !torch.vtensor<[2,3],f32>, !torch.bool -> !torch.vtensor
    %4 = torch.tensor_static_info_cast %3 : !torch.vtensor to !torch.vtensor<[?,?],f64>
    torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor<[?,?],f64>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[?,?],f64>) -> !torch.vtensor<[?,?],f64>
  %5 = torch.prim.If %c -> (!torch.vtensor<[?,3],f64>) {
    %6 = torch.aten.copy %0, %1, %false : !torch.vtensor<[3,3],f64>, !torch.vtensor<[2,3],f32>, !torch.bool -> !torch.vtensor
    %7 = torch.tensor_static_info_cast %6 : !torch.vtensor to !torch.vtensor<[?,3],f64>
    torch.prim.If.yield %7 : !torch.vtensor<[?,3],f64>
  } else {
    %8 = torch.tensor_static_info_cast %0 : !torch.vtensor<[3,3],f64> to !torch.vtensor<[?,3],f64>
    torch.prim.If.yield %8 : !torch.vtensor<[?,3],f64>
  }
  return %2, %5 : !torch.vtensor<[?,?],f64>, !torch.vtensor<[?,3],f64>
}

// So does the arm that is always taken, where the op in it raises: the choice gives no value, and what reads it never runs.
// CHECK-LABEL: @raises_in_the_arm_that_is_taken
// CHECK: torch.prim.If {{.*}} -> (!torch.vtensor<[?,?],f64>)
func.func @raises_in_the_arm_that_is_taken(%x: !torch.vtensor<[3,1],f64>, %y: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.vtensor<[?,?],f64> {
  %false = torch.constant.bool false
  %0 = "tierup.guard"(%c) {expected = #tierup.profiled<bool=true>} : (!torch.bool) -> !torch.bool
  %1 = torch.prim.If %0 -> (!torch.vtensor<[?,?],f64>) {
    %2 = torch.tensor_static_info_cast %x : !torch.vtensor<[3,1],f64> to !torch.vtensor
    %3 = torch.aten.copy %2, %y, %false : !torch.vtensor, !torch.vtensor<[2],f32>, !torch.bool -> !torch.vtensor
    %4 = torch.tensor_static_info_cast %3 : !torch.vtensor to !torch.vtensor<[?,?],f64>
    torch.prim.If.yield %4 : !torch.vtensor<[?,?],f64>
  } else {
    %5 = torch.tensor_static_info_cast %x : !torch.vtensor<[3,1],f64> to !torch.vtensor<[?,?],f64>
    torch.prim.If.yield %5 : !torch.vtensor<[?,?],f64>
  }
  %6 = torch.aten.neg %1 : !torch.vtensor<[?,?],f64> -> !torch.vtensor<[?,?],f64>
  return %6 : !torch.vtensor<[?,?],f64>
}
