// RUN: tierup-opt %s --tierup-narrow-slices --tierup-infer-types=stale-only=true | FileCheck %s

// CHECK-LABEL: func.func @window
// CHECK: torch.runtime.assert [[FITS:%.+]], "a slice is not as long as what it meets"
// CHECK: [[AT:%.+]] = torch.operator "tierup.within"(%arg1, %{{.+}})
// CHECK: [[TO:%.+]] = torch.aten.add.int [[AT]], %{{.+}}
// CHECK: torch.aten.slice.Tensor %arg0, %int0, [[AT]], [[TO]], %int1 : {{.*}} -> !torch.vtensor<[3],f32>
func.func @window(
    %x: !torch.vtensor<[9],f32> {tierup.guard = {kind = "array", dtype = "f32", sizes = [9]}},
    %k: !torch.int {tierup.guard = {kind = "int"}},
    %w: !torch.vtensor<[3],f32> {tierup.guard = {kind = "array", dtype = "f32", sizes = [3]}}
) -> !torch.vtensor<[3],f32> attributes {tierup.entry} {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int3 = torch.constant.int 3
  %end = torch.aten.add.int %k, %int3 : !torch.int, !torch.int -> !torch.int
  %0 = torch.aten.slice.Tensor %x, %int0, %k, %end, %int1 : !torch.vtensor<[9],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  %1 = torch.aten.mul.Tensor %0, %w : !torch.vtensor<[?],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  return %1 : !torch.vtensor<[3],f32>
}
