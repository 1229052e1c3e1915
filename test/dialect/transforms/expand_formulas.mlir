// RUN: tierup-opt %s --tierup-infer-types --tierup-expand-formulas | FileCheck %s
// RUN: tierup-opt %s --tierup-infer-types --tierup-expand-formulas --tierup-expand-formulas | FileCheck %s

// CHECK-LABEL: func.func @mse
// CHECK: %[[D:.*]] = torch.aten.sub.Tensor %arg0, %arg1
// CHECK: %[[S:.*]] = torch.aten.square %[[D]] : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
// CHECK: %[[M:.*]] = torch.aten.mean %[[S]], %{{.*}} -> !torch.vtensor<[],f32>
// CHECK-NOT: mse_loss
// CHECK: return %[[M]]
func.func @mse(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.mse_loss %x, %y, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}

// An op that the torch dialect has not; in a branch.
// CHECK-LABEL: func.func @huber
// CHECK: torch.prim.If
// CHECK: torch.aten.where.self
// CHECK: torch.aten.sum
// CHECK-NOT: huber_loss
func.func @huber(%x: !torch.vtensor<[2,3],f32>, %c: !torch.bool) -> !torch.vtensor {
  %int2 = torch.constant.int 2
  %delta = torch.constant.float 5.000000e-01
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.operator "aten.huber_loss"(%x, %x, %int2, %delta) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int, !torch.float) -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1 = torch.derefine %x : !torch.vtensor<[2,3],f32> to !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// Both results; weights of classes are taken where the targets say; a class that there is not is the gather's to refuse.
// CHECK-LABEL: func.func @nll
// CHECK: torch.aten.gather %arg0
// CHECK: torch.aten.index_select %arg2
// CHECK: %[[L:.*]] = torch.aten.div.Tensor
// CHECK: %[[T:.*]] = torch.aten.type_as
// CHECK-NOT: nll_loss
// CHECK: return %[[L]], %[[T]]
func.func @nll(%x: !torch.vtensor<[4,3],f32>, %t: !torch.vtensor<[4],si64>, %w: !torch.vtensor<[3],f32>) -> (!torch.vtensor<[],f32>, !torch.vtensor<[],f32>) {
  %int1 = torch.constant.int 1
  %ignored = torch.constant.int -100
  %0, %1 = torch.aten.nll_loss_forward %x, %t, %w, %int1, %ignored : !torch.vtensor<[4,3],f32>, !torch.vtensor<[4],si64>, !torch.vtensor<[3],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>, !torch.vtensor<[],f32>
  return %0, %1 : !torch.vtensor<[],f32>, !torch.vtensor<[],f32>
}

// What values may refuse is asserted.
// CHECK-LABEL: func.func @probabilities
// CHECK: %[[ALL:.*]] = torch.aten.all
// CHECK: %[[OK:.*]] = torch.aten.Bool.Tensor %[[ALL]]
// CHECK: torch.runtime.assert %[[OK]], "all elements of input should be between 0 and 1"
func.func @probabilities(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %0 = torch.aten.binary_cross_entropy %x, %x, %none, %int0 : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.none, !torch.int -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}

// Ranks that are not known, and a number that only the run knows, leave it.
// CHECK-LABEL: func.func @unknown
// CHECK: torch.aten.cross_entropy_loss
// CHECK: torch.aten.mse_loss
func.func @unknown(%x: !torch.vtensor<*,f32>, %t: !torch.vtensor<*,si64>, %y: !torch.vtensor<[3],f32>, %r: !torch.int) -> (!torch.vtensor, !torch.vtensor) {
  %int1 = torch.constant.int 1
  %ignored = torch.constant.int -100
  %zero = torch.constant.float 0.000000e+00
  %none = torch.constant.none
  %0 = torch.aten.cross_entropy_loss %x, %t, %none, %int1, %ignored, %zero : !torch.vtensor<*,f32>, !torch.vtensor<*,si64>, !torch.none, !torch.int, !torch.int, !torch.float -> !torch.vtensor
  %1 = torch.aten.mse_loss %y, %y, %r : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
