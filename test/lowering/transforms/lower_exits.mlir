// RUN: tierup-opt %s --split-input-file --tierup-lower-exits | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-exits --tierup-lower-exits | FileCheck %s

// CHECK-LABEL: func.func @exit
// CHECK-DAG: %[[X:.*]] = torch_c.to_builtin_tensor %arg0 : !torch.vtensor<[?],f32> -> tensor<?xf32>
// CHECK-DAG: %[[N:.*]] = torch_c.to_i64 %arg1
// CHECK-DAG: %[[C:.*]] = torch_c.to_i1 %arg2
// CHECK: "tierup.exit"(%[[X]], %[[N]], %[[C]]) {index = 3 : i64} : (tensor<?xf32>, i64, i1) -> ()
func.func @exit(%x: !torch.vtensor<[?],f32>, %n: !torch.int, %c: !torch.bool) {
  "tierup.exit"(%x, %n, %c) {index = 3 : i64} : (!torch.vtensor<[?],f32>, !torch.int, !torch.bool) -> ()
  return
}

// -----
// What nobody reads: no memory is filled, and a size that only the run knows is 0.
// CHECK-LABEL: func.func @unset
// CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xf32>
// CHECK: torch_c.from_builtin_tensor %[[E]]
// CHECK: torch_c.from_i64
// CHECK: torch_c.from_f64
// CHECK: torch_c.from_i1
// CHECK-NOT: torch.prim.Uninitialized
func.func @unset() -> (!torch.vtensor<[?,4],f32>, !torch.int, !torch.float, !torch.bool) {
  %0 = torch.prim.Uninitialized : !torch.vtensor<[?,4],f32>
  %1 = torch.prim.Uninitialized : !torch.int
  %2 = torch.prim.Uninitialized : !torch.float
  %3 = torch.prim.Uninitialized : !torch.bool
  return %0, %1, %2, %3 : !torch.vtensor<[?,4],f32>, !torch.int, !torch.float, !torch.bool
}

// -----
// CHECK-LABEL: func.func @forced
// CHECK: %[[F:.*]] = "tierup.forced"() {index = 1 : i64} : () -> i1
// CHECK: torch_c.from_i1 %[[F]]
func.func @forced() -> !torch.bool {
  %0 = "tierup.forced"() {index = 1 : i64} : () -> !torch.bool
  return %0 : !torch.bool
}

// -----
// A list stays: tierup-verify-lowered names it.
// CHECK-LABEL: func.func @list
// CHECK: torch.prim.Uninitialized : !torch.list<vtensor>
func.func @list() -> !torch.list<vtensor> {
  %0 = torch.prim.Uninitialized : !torch.list<vtensor>
  return %0 : !torch.list<vtensor>
}
