// RUN: tierup-opt %s --canonicalize | FileCheck %s
// MLIR's canonicalization of the torch dialect writes lists of numbers out for each dim, and reads behind the end of an empty one.

// CHECK-LABEL: func.func @pools
// CHECK: [[K:%.+]] = torch.prim.ListConstruct %int3, %int2
// CHECK: [[S:%.+]] = torch.prim.ListConstruct %int3, %int2
// CHECK: torch.aten.max_pool2d %arg0, [[K]], [[S]],
// CHECK: [[TWOS:%.+]] = torch.prim.ListConstruct %int2, %int2
// CHECK: [[STRIDE:%.+]] = torch.prim.ListConstruct %int2, %int2
// CHECK: torch.aten.avg_pool2d %arg0, [[TWOS]], [[STRIDE]],
func.func @pools(%x: !torch.vtensor<[1,2,6,6],f32>) -> (!torch.vtensor, !torch.vtensor) {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %3 = torch.constant.int 3
  %kernel = torch.prim.ListConstruct %3, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %two = torch.prim.ListConstruct %2 : (!torch.int) -> !torch.list<int>
  %empty = torch.prim.ListConstruct : () -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %m = torch.aten.max_pool2d %x, %kernel, %empty, %zeros, %ones, %false : !torch.vtensor<[1,2,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor
  %a = torch.aten.avg_pool2d %x, %two, %empty, %zeros, %false, %false, %none : !torch.vtensor<[1,2,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor
  return %m, %a : !torch.vtensor, !torch.vtensor
}
