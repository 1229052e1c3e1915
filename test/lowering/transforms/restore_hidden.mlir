// RUN: tierup-opt %s --split-input-file --tierup-restore-hidden | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-restore-hidden --tierup-restore-hidden | FileCheck %s

// CHECK-LABEL: func.func @hidden
// CHECK-NEXT: %[[E:.*]] = torch.aten.eq.Tensor %arg0, %arg0
// CHECK-NEXT: return %[[E]]
func.func @hidden(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],i1> {
  %0 = "tierup.hidden"(%x) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  %1 = torch.aten.eq.Tensor %x, %0 : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32> -> !torch.vtensor<[2],i1>
  "tierup.kept"(%1) : (!torch.vtensor<[2],i1>) -> ()
  return %1 : !torch.vtensor<[2],i1>
}

// -----
// What had memory of its own, and is an argument now, is copied.
// CHECK-LABEL: func.func @own
// CHECK: %[[C:.*]] = torch.aten.clone %arg0
// CHECK: return %[[C]]
func.func @own(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = "tierup.hidden"(%x) {own} : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
