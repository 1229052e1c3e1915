// RUN: tierup-opt %s --tierup-eliminate-guards | FileCheck %s

// Sizes that are not known may be a 1 that broadcasts, so neither is the result's (the contract `guarded` names the two: no guard holds
// them equal). Of a size that is known the result's follows, whatever the other is.
// CHECK-LABEL: func.func @broadcast
// CHECK: %[[M:.*]] = torch.aten.mul.Tensor
// CHECK-NEXT: %[[E:.*]] = torch.aten.sub.Tensor
// CHECK: %[[D:.*]] = torch.aten.sub.int
// CHECK-NEXT: "tierup.guard"(%[[D]]) {expected = #tierup.profiled<int=0>}
// CHECK: torch.aten.mul.Tensor {{.*}} -> !torch.vtensor<[4],f32>
// CHECK-NOT: tierup.guard
func.func @broadcast(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>, %z: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.int) {
  %zero = torch.constant.int 0
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor
  %1 = torch.aten.sub.Tensor %0, %x, %zero : !torch.vtensor, !torch.vtensor<[?],f32>, !torch.int -> !torch.vtensor
  %n = torch.aten.size.int %1, %zero : !torch.vtensor, !torch.int -> !torch.int
  %m = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %d = torch.aten.sub.int %n, %m : !torch.int, !torch.int -> !torch.int
  %2 = "tierup.guard"(%d) {expected = #tierup.profiled<int=0>} : (!torch.int) -> !torch.int
  %3 = torch.aten.mul.Tensor %x, %z : !torch.vtensor<[?],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  %4 = "tierup.guard"(%3) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %5 = torch.aten.neg %4 : !torch.vtensor<[4],f32> -> !torch.vtensor
  return %5, %2 : !torch.vtensor, !torch.int
}
