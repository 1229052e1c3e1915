// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// CHECK-LABEL: func.func @full_like_rows
// CHECK: [[R:%.+]] = tensor.dim
// CHECK: [[I64:%.+]] = arith.index_cast [[R]] : index to i64
// CHECK: [[N:%.+]] = arith.index_cast [[I64]] : i64 to index
// CHECK: [[C:%.+]] = arith.constant 2.500000e+00 : bf16
// CHECK: tensor.empty([[N]]) : tensor<?x4xbf16>
// CHECK: linalg.yield [[C]] : bf16
// CHECK: arith.maxsi %{{.+}}, %c0{{.*}} : index
// CHECK: linalg.index 0
// CHECK: linalg.yield %{{.+}} : i64
// CHECK-NOT: torch.aten.
func.func @full_like_rows(%x: !torch.vtensor<[?,4],f32>, %n: !torch.int) -> (!torch.vtensor<[?,4],bf16>, !torch.vtensor<[?],si64>) {
  %int0 = torch.constant.int 0
  %int4 = torch.constant.int 4
  %int15 = torch.constant.int 15
  %none = torch.constant.none
  %f = torch.constant.float 2.5
  %r = torch.aten.size.int %x, %int0 : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.int
  %s = torch.prim.ListConstruct %r, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.new_full %x, %s, %f, %int15, %none, %none, %none : !torch.vtensor<[?,4],f32>, !torch.list<int>, !torch.float, !torch.int, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?,4],bf16>
  %1 = torch.aten.arange %n, %none, %none, %none, %none : !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  return %0, %1 : !torch.vtensor<[?,4],bf16>, !torch.vtensor<[?],si64>
}

// -----
// A dtype that is not known, and a random one, which has no native code.
// CHECK-LABEL: func.func @kept
// CHECK: torch.aten.zeros
// CHECK: torch.aten.rand_like
func.func @kept(%s: !torch.list<int>, %x: !torch.vtensor<[4],f32>) -> (!torch.vtensor, !torch.vtensor<[4],f32>) {
  %none = torch.constant.none
  %0 = torch.aten.zeros %s, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor
  %1 = torch.aten.rand_like %x, %none, %none, %none, %none, %none : !torch.vtensor<[4],f32>, !torch.none, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[4],f32>
  return %0, %1 : !torch.vtensor, !torch.vtensor<[4],f32>
}
