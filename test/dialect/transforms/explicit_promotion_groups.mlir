// RUN: tierup-opt %s --tierup-explicit-promotion --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-explicit-promotion --tierup-explicit-promotion --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-explicit-promotion="groups-only" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=GROUPS

// Groups alone, where types are known: what is around them keeps its mark, its branches and its type.
// CHECK-LABEL: func.func @around
// CHECK-SAME: -> (!torch.vtensor<[4],f64>, !torch.vtensor<[4],f64>) {
// CHECK-NOT: torch.prim.If
// CHECK-NOT: numpy
// CHECK: return
// GROUPS-LABEL: func.func @around
// GROUPS-SAME: -> (!torch.vtensor, !torch.vtensor<[4],f64>) {
// GROUPS: torch.prim.If
// GROUPS: torch.aten.mul.Tensor {{.*}} {tierup.promotion = "numpy"}
// GROUPS: tierup.fusion_group
// GROUPS: torch.aten.to.dtype
// GROUPS-NOT: numpy
// GROUPS: tierup.yield
func.func @around(%i: !torch.vtensor<[4],si32>, %x: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.vtensor<[4],f64>) {
  %true = torch.constant.bool true
  %0 = torch.prim.If %true -> (!torch.vtensor<[4],si32>) {
    torch.prim.If.yield %i : !torch.vtensor<[4],si32>
  } else {
    %1 = torch.aten.neg %i : !torch.vtensor<[4],si32> -> !torch.vtensor<[4],si32>
    torch.prim.If.yield %1 : !torch.vtensor<[4],si32>
  }
  %2 = torch.aten.mul.Tensor %0, %x {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  %3 = "tierup.fusion_group"(%i, %x) ({
  ^bb0(%a: !torch.vtensor<[4],si32>, %b: !torch.vtensor<[4],f32>):
    %4 = torch.aten.mul.Tensor %a, %b {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f64>
    "tierup.yield"(%4) : (!torch.vtensor<[4],f64>) -> ()
  }, {}) : (!torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f64>
  return %2, %3 : !torch.vtensor, !torch.vtensor<[4],f64>
}

// -----
// One kernel serves both rules: the mark goes.
// CHECK-LABEL: func.func @one_kernel
// CHECK: torch.aten.t %arg0 : !torch.vtensor<[2,4],f32>
func.func @one_kernel(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[4,2],f32> {
  %0 = torch.aten.t %x {tierup.promotion = "numpy"} : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[4,2],f32>
  return %0 : !torch.vtensor<[4,2],f32>
}

// -----
// In a group an arm that is never taken stays, of which nothing is known.
// GROUPS-LABEL: func.func @dead_arm
// GROUPS: torch.aten.add.Tensor {{.*}} {tierup.promotion = "numpy"}
func.func @dead_arm(%i: !torch.vtensor<[4],si32>, %x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = "tierup.fusion_group"(%i, %x) ({
  ^bb0(%a: !torch.vtensor<[4],si32>, %b: !torch.vtensor<[4],f32>):
    %true = torch.constant.bool true
    %one = torch.constant.int 1
    %1 = torch.prim.If %true -> (!torch.vtensor<[4],f32>) {
      torch.prim.If.yield %b : !torch.vtensor<[4],f32>
    } else {
      %2 = torch.aten.add.Tensor %a, %b, %one {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
      torch.prim.If.yield %2 : !torch.vtensor<[4],f32>
    }
    "tierup.yield"(%1) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
