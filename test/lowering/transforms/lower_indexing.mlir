// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// Positions are kept in range before anything is read.
// CHECK-LABEL: func.func @index_select
// CHECK: linalg.generic {{.*}} ins(%1 : tensor<3xi64>)
// CHECK: [[LOW:%.+]] = arith.minsi %in, %{{.+}} : i64
// CHECK: [[AT:%.+]] = arith.maxsi [[LOW]], %c0_i64 : i64
// CHECK: [[I:%.+]] = arith.index_cast [[AT]] : i64 to index
// CHECK: [[J:%.+]] = linalg.index 1
// CHECK: tensor.extract %0{{\[}}[[I]], [[J]]]
// CHECK-NOT: torch.aten
func.func @index_select(%x: !torch.vtensor<[5,?],f32>, %at: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3,?],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.index_select %x, %int0, %at : !torch.vtensor<[5,?],f32>, !torch.int, !torch.vtensor<[3],si64> -> !torch.vtensor<[3,?],f32>
  return %0 : !torch.vtensor<[3,?],f32>
}

// -----
// One write after the other, in index order: the last one counts.
// CHECK-LABEL: func.func @scatter
// CHECK: [[W:%.+]] = torch_c.to_builtin_tensor %arg2
// CHECK: [[INTO:%.+]] = torch_c.to_builtin_tensor %arg0
// CHECK: [[AT:%.+]] = torch_c.to_builtin_tensor %arg1
// CHECK: scf.for [[K:%.+]] = %c0 to %c3 step %c1 iter_args([[V:%.+]] = [[INTO]])
// CHECK: tensor.extract [[AT]]{{\[}}[[K]]]
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: [[I:%.+]] = arith.index_cast %{{.+}} : i64 to index
// CHECK: [[X:%.+]] = tensor.extract [[W]]{{\[}}[[K]]]
// CHECK: tensor.insert [[X]] into [[V]]{{\[}}[[I]]]
func.func @scatter(%x: !torch.vtensor<[5],f32>, %at: !torch.vtensor<[3],si64>, %v: !torch.vtensor<[3],f32>) -> !torch.vtensor<[5],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.scatter.src %x, %int0, %at, %v : !torch.vtensor<[5],f32>, !torch.int, !torch.vtensor<[3],si64>, !torch.vtensor<[3],f32> -> !torch.vtensor<[5],f32>
  return %0 : !torch.vtensor<[5],f32>
}

// -----
// Of indices that may count from the end it is the index that is kept in range: what checks it says so to LLVM.
// CHECK-LABEL: func.func @from_the_end
// CHECK: [[LOW:%.+]] = arith.minsi %in, %{{.+}} : i64
// CHECK: [[AT:%.+]] = arith.maxsi [[LOW]], %{{.+}} : i64
// CHECK: [[BELOW:%.+]] = arith.cmpi slt, [[AT]], %c0
// CHECK: [[TURNED:%.+]] = arith.addi [[AT]], %{{.+}} : i64
// CHECK: arith.select [[BELOW]], [[TURNED]], [[AT]] : i64
func.func @from_the_end(%x: !torch.vtensor<[5],f32>, %at: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3],f32> {
  %at_0 = torch.prim.ListConstruct %at : (!torch.vtensor<[3],si64>) -> !torch.list<vtensor>
  %0 = torch.aten.index.Tensor_hacked_twin %x, %at_0 : !torch.vtensor<[5],f32>, !torch.list<vtensor> -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}

// -----
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: torch.aten.index_select
// CHECK-NEXT: return
func.func @kept(%x: !torch.vtensor<[5,4],f32>, %axis: !torch.int, %at: !torch.vtensor<[3],si64>) -> !torch.vtensor<[?,?],f32> {
  %0 = torch.aten.index_select %x, %axis, %at : !torch.vtensor<[5,4],f32>, !torch.int, !torch.vtensor<[3],si64> -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}
