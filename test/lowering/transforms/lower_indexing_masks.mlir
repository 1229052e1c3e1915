// RUN: tierup-opt %s --split-input-file --tierup-lower-ops | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-ops --tierup-lower-ops | FileCheck %s

// Positions of true elements are collected without a branch, into room for all and one more; then the result is read.
// CHECK-LABEL: func.func @read
// CHECK: [[ROOM:%.+]] = tensor.empty() : tensor<7xi64>
// CHECK: [[FOUND:%.+]]:3 = scf.for {{.*}} iter_args([[LIST:%.+]] = [[ROOM]], [[COUNT:%.+]] = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK-NOT: scf.if
// CHECK: tensor.insert %{{.+}} into %{{.+}} : tensor<7xi64>
// CHECK: tensor.empty([[FOUND]]#1) : tensor<?xf32>
// CHECK: linalg.generic
// CHECK: tensor.extract [[FOUND]]#0
func.func @read(%x: !torch.vtensor<[2,3],f32>, %mask: !torch.vtensor<[2,3],i1>) -> !torch.vtensor<[?],f32> {
  %0 = torch.prim.ListConstruct %mask : (!torch.vtensor<[2,3],i1>) -> !torch.list<vtensor>
  %1 = torch.aten.index.Tensor_hacked_twin %x, %0 : !torch.vtensor<[2,3],f32>, !torch.list<vtensor> -> !torch.vtensor<[?],f32>
  return %1 : !torch.vtensor<[?],f32>
}

// -----
// A write of one value, or of rows, is a select.
// CHECK-LABEL: func.func @write
// CHECK-NOT: scf.for
// CHECK: linalg.generic
// CHECK: arith.select %in_{{.+}}, %in_{{.+}}, %in : f32
// CHECK-NOT: torch.aten
func.func @write(%x: !torch.vtensor<[?,3],f32>, %mask: !torch.vtensor<[?],i1>, %row: !torch.vtensor<[3],f32>) -> !torch.vtensor<[?,3],f32> {
  %false = torch.constant.bool false
  %0 = torch.prim.ListConstruct %mask : (!torch.vtensor<[?],i1>) -> !torch.list<vtensor>
  %1 = torch.aten.index_put.hacked_twin %x, %0, %row, %false
    : !torch.vtensor<[?,3],f32>, !torch.list<vtensor>, !torch.vtensor<[3],f32>, !torch.bool -> !torch.vtensor<[?,3],f32>
  return %1 : !torch.vtensor<[?,3],f32>
}

// -----
// Values for each of the true elements are taken in order: one loop over these, and one over what each of them names.
// CHECK-LABEL: func.func @in_order
// CHECK: %[[FOUND:.+]]:3 = scf.for
// CHECK: %[[COUNT:.+]] = {{.+}} %[[FOUND]]#1, %{{.+}}
// CHECK: scf.for %[[K:.+]] = %{{.+}} to %[[COUNT]]
// CHECK: scf.for %[[J:.+]] =
// CHECK: tensor.extract {{.+}} : tensor<2x3xf32>
// CHECK: tensor.insert
// CHECK-NOT: torch.aten
func.func @in_order(%x: !torch.vtensor<[5,3],f32>, %mask: !torch.vtensor<[5],i1>, %rows: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[5,3],f32> {
  %false = torch.constant.bool false
  %0 = torch.prim.ListConstruct %mask : (!torch.vtensor<[5],i1>) -> !torch.list<vtensor>
  %1 = torch.aten.index_put.hacked_twin %x, %0, %rows, %false
    : !torch.vtensor<[5,3],f32>, !torch.list<vtensor>, !torch.vtensor<[2,3],f32>, !torch.bool -> !torch.vtensor<[5,3],f32>
  return %1 : !torch.vtensor<[5,3],f32>
}

// -----
// A mask beside positions is left alone.
// CHECK-LABEL: func.func @kept
// CHECK: torch.aten.index.Tensor_hacked_twin
func.func @kept(%x: !torch.vtensor<[2,3],f32>, %mask: !torch.vtensor<[2],i1>, %at: !torch.vtensor<[1],si64>) -> !torch.vtensor<[?],f32> {
  %2 = torch.prim.ListConstruct %mask, %at : (!torch.vtensor<[2],i1>, !torch.vtensor<[1],si64>) -> !torch.list<vtensor>
  %3 = torch.aten.index.Tensor_hacked_twin %x, %2 : !torch.vtensor<[2,3],f32>, !torch.list<vtensor> -> !torch.vtensor<[?],f32>
  return %3 : !torch.vtensor<[?],f32>
}
