// RUN: tierup-opt %s --tierup-insert-symbolic-checks --tierup-insert-symbolic-checks | FileCheck %s
// RUN: tierup-opt %s --tierup-insert-checks --tierup-insert-checks | FileCheck %s

// What a callee is promised stays one cast, however often this runs; casts that say nothing more go.
// CHECK-LABEL: func.func @promised(%arg0: !torch.vtensor)
// CHECK-NEXT: %[[X:.*]] = torch.tensor_static_info_cast %arg0 : !torch.vtensor to !torch.vtensor<[?,?],si64>
// CHECK-NEXT: call @callee(%[[X]])
func.func @promised(%x: !torch.vtensor) -> !torch.int {
  %0 = torch.tensor_static_info_cast %x : !torch.vtensor to !torch.vtensor<[?,?],si64>
  %1 = call @callee(%0) : (!torch.vtensor<[?,?],si64>) -> !torch.int
  return %1 : !torch.int
}
func.func private @callee(%x: !torch.vtensor<[?,?],si64>) -> !torch.int {
  %0 = torch.constant.int 0
  %1 = torch.aten.size.int %x, %0 : !torch.vtensor<[?,?],si64>, !torch.int -> !torch.int
  return %1 : !torch.int
}
